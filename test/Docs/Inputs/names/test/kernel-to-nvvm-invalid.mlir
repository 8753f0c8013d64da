// RUN: flashnorm-opt %s --flashnorm-raise-norms --convert-kernel-to-nvvm-not
