def RaiseNormsPass : Pass<"flashnorm-raise-norms"> {}
def ConvertKernelToNVVMPass : Pass<"convert-kernel-to-nvvm"> {}
def FuseNormsPass
    : Pass<"flashnorm-fuse"> {}
