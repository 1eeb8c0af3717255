"""A queue of device checks, in the network of the system that answers them."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from targets import TARGETS

from lifoq_cdk import LifoQueue, TaskCode

app = cdk.App()
stack = cdk.Stack(app, "devices")

vpc = ec2.Vpc(stack, "Network", nat_gateways=0, max_azs=2)
vpc.add_gateway_endpoint("Tables", service=ec2.GatewayVpcEndpointAwsService.DYNAMODB)
vpc.add_interface_endpoint("Kicks", service=ec2.InterfaceVpcEndpointAwsService.SNS)

LifoQueue(
    stack,
    "Checks",
    queue_name="devices",
    tasks=TaskCode(
        "tasks",
        vpc=vpc,
        vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
    ),
    targets=TARGETS,
    deadline=cdk.Duration.minutes(2),
    in_flight=10,
)

app.synth()
