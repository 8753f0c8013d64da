PassPipelineRegistration<Options>("flashnorm-untested", "text", build);
