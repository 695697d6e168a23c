"""The local stack: PostgreSQL, Redis, Kafka and the four services, with all their files in one folder.

Read in this order:
  cli         the commands, and their connection to the supervisor
  supervisor  the process that owns all others; it stops them on `down` and when `up` dies
  stack       the members and the order in which they start and stop
  member      one process: start, probe, signal, stop
  postgres, redis, kafka, services   the members
  authority, kafka_security, librdkafka   what `up --secure` adds: certificates, Kafka users and their permissions
"""
