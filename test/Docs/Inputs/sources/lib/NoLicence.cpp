//===- NoLicence.cpp - Has no licence ---===//
