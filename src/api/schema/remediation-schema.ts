import { z } from 'zod';

/** What is done with nodes that are unhealthy. */
export const RemediationSchema = z
  .strictObject({
    strategy: z
      .enum(['None', 'Restart', 'Replace'])
      .default('Restart')
      .describe(
        'What is done with an unhealthy node. None: it is only reported. Restart: its machine is restarted. Replace: if that does not help, its machine is deleted and created anew, with the data on its disks. Default: Restart.',
      ),
    unhealthyMinutes: z
      .int()
      .min(1)
      .max(1440)
      .default(5)
      .describe('Minutes for which a node has to be unhealthy before anything is done. Default: 5.'),
    maxUnhealthyPercent: z
      .int()
      .min(1)
      .max(100)
      .default(40)
      .describe(
        'Largest share of the nodes of a pool, in percent, that may be unhealthy for anything to be done: with more, the cause is taken to be elsewhere. One node always counts as few enough. Default: 40.',
      ),
  })
  .prefault({})
  .describe('Restart and replacement of unhealthy nodes.');
export type RemediationSpec = z.infer<typeof RemediationSchema>;
