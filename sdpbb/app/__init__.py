"""What people and programs call: the commands, the estimator, the state of the installation."""
