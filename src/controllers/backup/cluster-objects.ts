import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { HostSpec, HostStatus } from '../../api/host.ts';
import { MachineSpec, MachineStatus } from '../../api/machine.ts';
import { group, version } from '../../api/names.ts';
import { NodePoolSpec } from '../../api/node-pool.ts';
import { SecretString } from '../../lib/secret-string.ts';

const text = z.string().max(253);
const notes = z.record(z.string().max(317), z.string().max(262_144)).default({});
const Metadata = z.object({ name: text, labels: notes, annotations: notes });

const hostStatus = z.custom<HostStatus>((value) => HostStatus.safeParse(value).success, 'it is no status of a Host');

/** The largest pool has 10,000 slots; no cluster of Kubernetes has more nodes than 5,000. */
const maxMachines = 5000;

/**
 * The objects of one cluster on the platform cluster, except Secrets. This is no manifest, and `kubectl apply` refuses it:
 * a Machine without its status would be provisioned again.
 */
const ClusterObjectsSchema = z.object({
  apiVersion: z.literal(`${group}/${version}`),
  kind: z.literal('ClusterBackup'),
  time: z.iso.datetime(),
  /** What its resources on shared hardware are marked with. */
  installation: z.string().min(1).max(64),
  cluster: z.object({
    metadata: Metadata.extend({ namespace: text, uid: z.string().min(1).max(64) }),
    spec: z.looseObject({ profile: text, tenancy: z.enum(['Exclusive', 'Shared']) }),
    /** The record of one-time decisions, as in its status. */
    record: z.looseObject({ talosCa: z.string() }),
  }),
  machines: z
    .array(z.object({ metadata: Metadata.extend({ uid: text }), spec: MachineSpec, status: MachineStatus }))
    .max(maxMachines),
  nodePools: z.array(z.object({ metadata: Metadata, spec: NodePoolSpec })).max(maxMachines),
  /** Those that the Machines hold. */
  hosts: z.array(z.object({ metadata: Metadata, spec: HostSpec, status: hostStatus })).max(maxMachines),
  /** Leases that claim addresses. */
  addresses: z
    .array(z.object({ metadata: Metadata, spec: z.object({ holderIdentity: z.string().max(512) }) }))
    .max(2 * maxMachines),
});
export type ClusterObjects = z.infer<typeof ClusterObjectsSchema>;

export const renderClusterObjects = (objects: Omit<ClusterObjects, 'apiVersion' | 'kind'>): SecretString =>
  new SecretString(
    stringify(
      { apiVersion: `${group}/${version}`, kind: 'ClusterBackup', ...objects },
      { aliasDuplicateObjects: false },
    ),
  );

/** The objects, or the first thing that is wrong with the text. */
export function parseClusterObjects(content: string): ClusterObjects | { readonly problem: string } {
  let value: unknown;
  try {
    value = parse(content, { maxAliasCount: 0 });
  } catch (error) {
    return { problem: error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error) };
  }
  const parsed = ClusterObjectsSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [first] = parsed.error.issues;
  return { problem: `${first?.path.join('.')}: ${first?.message}` };
}
