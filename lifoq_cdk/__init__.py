"""lifoq as CDK constructs, for the CDK application of anybody."""
