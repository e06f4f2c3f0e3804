"""From a corpus to kept draws: the estimator, its settings, how chains are run, and the model file."""
