import { z } from 'zod';
import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import { annotations, clusterSecretsName } from '../../../api/names.ts';
import type { Secret } from '../../../kube/core-types.ts';
import type { Services } from '../services.ts';

/**
 * The progress of a restore. It is an annotation of the Secret of the cluster, which has no other writer of it, unlike the
 * status. No field is secret.
 */
const Record = z.object({
  /** Key of the snapshot, and the Secret with the identity. */
  key: z.string().max(1024),
  identity: z.string().max(253),
  /** Of the object that was verified: nothing else is sent to a node. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Of the snapshot, in seconds since 1970, and its revision if the backup tells. */
  time: z.iso.datetime(),
  revision: z.int().optional(),
  startedAt: z.iso.datetime(),
  /** A user has approved it for an etcd with a quorum. */
  overQuorum: z.boolean().default(false),
  /** By Machine: the boot in which its data were to be wiped. Written before the call. */
  wipes: z.record(z.string(), z.string()).default({}),
  /** The last bootstrap from the snapshot. Written before the call. */
  request: z
    .object({
      machine: z.string(),
      boot: z.string(),
      /** Of the etcd service, right before the call. */
      changedAt: z.string(),
    })
    .optional(),
  /** How often etcd was bootstrapped from the snapshot. */
  attempts: z.int().default(0),
  /** The API server has answered with the objects of the snapshot. */
  provenAt: z.iso.datetime().optional(),
  /** It is over: the record is kept for the report. */
  completedAt: z.iso.datetime().optional(),
});
export type RestoreRecord = z.infer<typeof Record>;

/** A record that cannot be read. A restore is under way, and nothing else may happen to the cluster. */
export const unreadableRestore = 'unreadable';

/** Undefined: there never was one. */
export function readRestoreRecord(secret: Secret | undefined): RestoreRecord | typeof unreadableRestore | undefined {
  const text = secret?.metadata.annotations?.[annotations.restoreProgress];
  if (text === undefined) return undefined;
  try {
    return Record.safeParse(JSON.parse(text)).data ?? unreadableRestore;
  } catch {
    return unreadableRestore;
  }
}

export const formatRestoreRecord = (record: RestoreRecord): string => JSON.stringify(record);

/** Whether etcd of the cluster is being restored, from the cache. Then nothing else is changed. */
export function isBeingRestored(
  { stores, namespace }: Pick<Services, 'stores' | 'namespace'>,
  cluster: ClusterIdentity,
): boolean {
  const record = readRestoreRecord(stores.secrets.get({ namespace, name: clusterSecretsName(cluster) }));
  return record === unreadableRestore || (record !== undefined && record.completedAt === undefined);
}
