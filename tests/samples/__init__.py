"""What tests of models and methods share: settings, batches, golden numbers, a reference loop."""
