// RUN: flashnorm-opt %s --flashnorm-raise-norms
