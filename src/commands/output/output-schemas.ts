import { z } from 'zod';
import { clusterHealths } from '../../status/api-types.ts';

/**
 * The objects that `--output json` and `--output yaml` print. Their fields are part of the API: they are documented by these
 * descriptions and stay as they are within a major version; new ones may be added. Absent: not known, or there is none.
 */

const count = z.int().min(0);
const time = z.string().describe('RFC 3339.');
const clusterRef = { namespace: z.string(), name: z.string() };

const ObjectRef = z
  .strictObject({ kind: z.string(), namespace: z.string().optional(), name: z.string() })
  .describe('An object of the platform cluster.');

const Cause = z
  .strictObject({
    reason: z.string().describe('Of the list of reasons.'),
    message: z.string(),
    since: time.optional(),
  })
  .describe('Why it is not as it should be.');

const StatusRow = z.strictObject({
  ...clusterRef,
  health: z.enum(clusterHealths).describe('attention: ready, and something beside its readiness failed.'),
  isProblem: z.boolean().describe('A user has to look at it.'),
  cause: Cause.optional(),
  since: time.optional().describe('Since when it has its health.'),
  config: z.string().describe('Name of the ProviderConfig.'),
  platform: z.string().optional(),
  kubernetesVersion: z.string().optional(),
  talosVersion: z.string().optional(),
  machines: count,
  readyMachines: count,
  upToDate: z.boolean().optional().describe('Whether its nodes run what the ProviderConfig says.'),
  pendingMachines: count.describe('Machines that wait for a change, or are being changed.'),
  backup: z
    .strictObject({
      lastSuccess: time.optional(),
      lastAttempt: time.optional(),
      failures: count.describe('Failures since the last success.'),
      message: z.string().optional().describe('Of the last failure.'),
      bytes: count.optional().describe('Of the last complete backup.'),
    })
    .optional()
    .describe('Absent: no backup is scheduled, and there is none.'),
});

const Status = z.strictObject({
  clusters: z.array(StatusRow).describe('Problems first, then by name.'),
  rollouts: z
    .array(
      z.strictObject({
        config: z.string().describe('Name of the ProviderConfig.'),
        total: count.describe('Machines.'),
        updated: count,
        updating: count,
        failed: count,
        isPaused: z.boolean(),
      }),
    )
    .describe('Rollouts that are not finished.'),
  hosts: z.strictObject({ total: count, free: count, inUse: count, failed: count }).optional(),
});

const Why = z.strictObject({
  object: ObjectRef,
  is: z.string().describe('What it is, as the end of a sentence.'),
  state: z.string().describe('Its state, as the end of a sentence.'),
  isReady: z.boolean(),
  since: time.optional(),
  findings: z
    .array(
      z.strictObject({
        object: ObjectRef,
        condition: z.string().optional().describe('Type of the condition.'),
        reason: z.string().optional(),
        message: z.string(),
        since: time.optional(),
        step: z
          .strictObject({
            name: z.string(),
            plan: z.string().describe('provision, update, repair or release; of a Host: its task.'),
            since: time,
            failures: count.describe('Failures in a row.'),
            deadlineMinutes: z.number().optional().describe('After this time it is reported as overdue.'),
          })
          .optional(),
      }),
    )
    .describe('What waits for what; the last one is the cause. Empty: it waits for nothing.'),
  nextStep: z.string().describe('What to do, as a sentence.'),
  guide: z.string().optional().describe('Section of this documentation.'),
});

const Check = z.strictObject({
  providerConfig: z.string(),
  isValid: z.boolean(),
  findings: z.array(
    z.strictObject({
      field: z.string().describe('Path below spec.'),
      reason: z.string(),
      message: z.string().describe('What is wrong, and what to do.'),
      isAdvice: z.boolean().describe('Information only: nothing is wrong.'),
    }),
  ),
});

const Effect = z.strictObject({
  effect: z.string().describe('creates, has, joins, routes, erases, keeps, protects, blocked or unknown.'),
  subject: z.string().describe('The resource, or a sentence.'),
});

const Plan = z.strictObject({
  machines: z.array(
    z.strictObject({
      name: z.string(),
      role: z.enum(['controlplane', 'worker']),
      pool: z.string(),
      size: z.string(),
      failureDomain: z.string().optional(),
      exists: z.boolean(),
      host: z
        .strictObject({
          name: z.string(),
          serverID: z.string(),
          isHeld: z.boolean().describe('The Machine holds it already.'),
        })
        .optional(),
      error: z.string().optional().describe('Why it would wait.'),
      effects: z.array(Effect),
      documents: z
        .array(z.looseObject({}))
        .optional()
        .describe('With --documents: its machine configuration, with secrets masked.'),
    }),
  ),
  surplus: z.array(z.string()).describe('Machines that would be drained and deleted.'),
  shared: z.array(Effect).describe('Effects on what the machines share.'),
  unassignedHosts: z.array(
    z.strictObject({
      reason: z.string(),
      names: z.array(z.string()),
      refused: z.array(z.string()).describe('What a closer check of their servers would refuse.'),
    }),
  ),
  endpoint: z.string().optional().describe('URL of the API server.'),
  isExact: z.boolean().describe('false: names and MAC addresses depend on a platform cluster, and are placeholders.'),
  updates: z
    .array(
      z.strictObject({
        cluster: z.string().describe('NAMESPACE/NAME'),
        machine: z.string(),
        effect: z.enum(['changes', 'restarts', 'replaces', 'blocked', 'unknown']),
        subject: z.string(),
      }),
    )
    .describe('Changes of running machines, in their order.'),
});

const Hosts = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('List').describe('kubectl apply accepts it.'),
  items: z
    .array(z.looseObject({ kind: z.literal('Host') }))
    .describe('Hosts in maintenance. Warnings about them are in the YAML only.'),
});

const Reservations = z.strictObject({
  reservations: z.array(z.strictObject({ address: z.string(), mac: z.string().describe('Lower-case, with colons.') })),
});

const BackupsList = z.strictObject({
  backups: z
    .array(
      z.strictObject({
        time,
        ...clusterRef,
        isComplete: z.boolean(),
        kubernetesVersion: z.string().optional(),
        snapshotBytes: count.optional().describe('Of the snapshot in clear.'),
        storedBytes: count.describe('Of all its objects in the bucket.'),
        key: z.string().optional().describe('The value of --key.'),
      }),
    )
    .describe('The newest first.'),
});

const BackupsVerify = z.strictObject({
  verified: z.array(z.strictObject({ key: z.string(), isDecrypted: z.boolean().describe('Read with --identity.') })),
});

const Files = z.strictObject({ files: z.array(z.string()).describe('Paths of what was written.') });

const Import = z.strictObject({
  ...clusterRef,
  time: time.describe('When the backup was taken.'),
  isImported: z.boolean().describe('false without --confirm.'),
  secrets: count,
  machines: count,
  hosts: count,
  nodePools: count,
  addresses: count,
  created: z.array(z.string()).describe('Kind and name of what was written.'),
  missingProviderConfigs: z.array(z.string()).describe('To be created before the provider starts.'),
});

const Adopt = z.strictObject({
  ...clusterRef,
  isAdopted: z.boolean().describe('false without --confirm.'),
  endpoint: z.string(),
  kubernetesVersion: z.string(),
  nodes: z.array(
    z.strictObject({
      name: z.string(),
      role: z.enum(['controlplane', 'worker']),
      address: z.string(),
      talosVersion: z.string(),
      kubernetesVersion: z.string(),
    }),
  ),
  machines: z.array(z.string()).describe('Machines that are missing, or were before.'),
  unnamed: z.array(z.string()).describe('Nodes of the cluster that the command does not name.'),
  created: z.array(z.string()).describe('Kind and name of what was written.'),
});

const SupportBundle = z.strictObject({
  file: z.string(),
  contents: z.array(z.string()).describe('Files in the archive.'),
  hiddenValues: count,
  leftOut: z.array(z.strictObject({ what: z.string(), why: z.string() })),
});

/** By command, and by its argument where the object depends on it. */
export const outputSchemas = {
  status: Status,
  why: Why,
  check: Check,
  plan: Plan,
  hosts: Hosts,
  reservations: Reservations,
  'backups list': BackupsList,
  'backups verify': BackupsVerify,
  'backups fetch': Files,
  backup: Files,
  import: Import,
  adopt: Adopt,
  'support-bundle': SupportBundle,
} as const;

export type CommandOutput<C extends keyof typeof outputSchemas> = z.infer<(typeof outputSchemas)[C]>;
