import { z } from 'zod';
import { timeZoneSchema } from './spec-fields.ts';

const timeOfDaySchema = z
  .string()
  .regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$/)
  .max(5);

const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;
export type Weekday = (typeof weekdays)[number];

const Window = z.strictObject({
  days: z.array(z.enum(weekdays)).max(7).default([]).describe('Days on which the window begins. Default: every day.'),
  from: timeOfDaySchema.describe('Beginning, e.g. 22:00.'),
  to: timeOfDaySchema.describe('End, e.g. 04:00. A time that is not after the beginning is on the next day.'),
  timeZone: timeZoneSchema.default('UTC').describe('Time zone of the IANA database, e.g. Europe/Berlin. Default: UTC.'),
});
export type RolloutWindow = z.infer<typeof Window>;

const Drain = z
  .strictObject({
    timeoutMinutes: z
      .int()
      .min(1)
      .max(1440)
      .default(30)
      .describe('Minutes to wait for the Pods of a node to move. Default: 30.'),
    onTimeout: z
      .enum(['Wait', 'Force'])
      .default('Wait')
      .describe('What follows the timeout. Wait: keep waiting, and report it. Force: delete the Pods. Default: Wait.'),
  })
  .prefault({})
  .describe('How nodes are drained before they restart, are changed or are removed.');

/** A name of a namespace or workload (RFC 1123 subdomain). */
const workloadNameSchema = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/)
  .max(253);

const WorkloadCheckSchema = z.strictObject({
  kind: z.enum(['Deployment', 'StatefulSet', 'DaemonSet']).describe('Kind of the workload.'),
  namespace: workloadNameSchema.describe('Namespace of the workload in the cluster.'),
  name: workloadNameSchema.describe('Name of the workload.'),
});
export type WorkloadCheck = z.infer<typeof WorkloadCheckSchema>;

/** How changes reach running clusters. */
export const RolloutSchema = z
  .strictObject({
    maxClusters: z
      .int()
      .min(1)
      .max(1000)
      .default(1)
      .describe('Number of Clusters of this ProviderConfig that change at the same time. Default: 1.'),
    maxUnavailable: z
      .int()
      .min(1)
      .max(100)
      .default(1)
      .describe(
        'Number of nodes of a worker pool that change at the same time. Control planes change one at a time. Default: 1.',
      ),
    windows: z
      .array(Window)
      .max(16)
      .default([])
      .describe('When changes may begin. A change that has begun is finished. Default: always.'),
    drain: Drain,
    healthChecks: z
      .array(WorkloadCheckSchema)
      .max(16)
      .default([])
      .describe(
        'Workloads of each cluster whose Pods all have to be available before the next machine is changed, or deleted while it is ready. Default: none.',
      ),
  })
  .prefault({})
  .describe('How changes of this ProviderConfig reach running clusters.');
export type RolloutSpec = z.infer<typeof RolloutSchema>;
