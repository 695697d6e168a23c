"""The local stack: PostgreSQL, Redis, Kafka and the four services under one folder.

Read in this order:
  cli         the commands, and how they talk to the supervisor
  supervisor  the one process that owns all others; ends them when `up` dies or `down` comes
  stack       which members there are and in which order they start and end
  member      one process: start, probe, signal, stop
  postgres, redis, kafka, services   the members
  authority, kafka_security, librdkafka   what `up --secure` adds: certificates, Kafka's users and their rights
"""
