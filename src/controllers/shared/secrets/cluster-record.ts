import { z } from 'zod';
import { annotations } from '../../../api/names.ts';
import type { Cluster } from '../../../api/openmcp/types.ts';
import { type ClusterSecrets, fingerprintOf } from './cluster-secrets.ts';

/** Key of the record in `status.providerStatus` of a Cluster. */
export const clusterRecordKey = 'record';

/**
 * Decisions about a cluster that are made once and never change. The record exists twice, as annotations of the
 * cluster's Secret and in the status of the Cluster, so that the loss of one copy loses nothing. No field is secret.
 */
const ClusterRecord = z.object({
  /** SHA-256 of the Talos CA certificate. It identifies the bundle of this cluster, and only a rotation changes it. */
  talosCa: z.string().regex(/^[0-9a-f]{64}$/),
  /** The same of the Kubernetes CA. */
  kubernetesCa: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  kubernetesVersion: z.string().max(32).optional(),
  nodePrefix: z.string().max(63).optional(),
  endpoint: z.string().max(512).optional(),
  bootstrapMachine: z.string().max(253).optional(),
  bootstrapRequest: z.string().max(256).optional(),
  bootstrappedAt: z.string().max(64).optional(),
});
export type ClusterRecord = z.infer<typeof ClusterRecord>;

type RecordField = Exclude<keyof ClusterRecord, 'talosCa' | 'kubernetesCa'>;

/** The annotation of the Secret for each field. */
const recordAnnotations: Readonly<Record<RecordField, string>> = {
  kubernetesVersion: annotations.kubernetesVersion,
  nodePrefix: annotations.nodePrefix,
  endpoint: annotations.endpoint,
  bootstrapMachine: annotations.bootstrapMachine,
  bootstrapRequest: annotations.bootstrapRequest,
  bootstrappedAt: annotations.bootstrappedAt,
};
const recordFields = Object.keys(recordAnnotations) as RecordField[];

/** The record in the status of a Cluster; undefined if there is no valid one. */
export function readClusterRecord(cluster: Cluster): ClusterRecord | undefined {
  const parsed = ClusterRecord.safeParse(cluster.status?.providerStatus?.[clusterRecordKey]);
  return parsed.success ? parsed.data : undefined;
}

/** The record that belongs to these secrets. */
export function toClusterRecord(secrets: ClusterSecrets): ClusterRecord {
  const known = recordFields.flatMap((note) => (secrets[note] === undefined ? [] : [[note, secrets[note]] as const]));
  return { talosCa: secrets.talosCa, kubernetesCa: secrets.kubernetesCa, ...Object.fromEntries(known) };
}

/** An authority of the Secret that is not the one of this cluster. */
export interface ForeignAuthority {
  readonly name: 'Talos' | 'Kubernetes';
  /** SHA-256 of the certificates. */
  readonly found: string;
  readonly recorded: string;
}

/**
 * The first authority that differs from the record. The record follows the Secret: it may still have the former authority
 * while the new one is the issuing one in the Secret, which says so itself.
 */
export function findForeignAuthority(
  secrets: Pick<ClusterSecrets, 'talosCa' | 'kubernetesCa' | 'rotation'>,
  record: ClusterRecord,
): ForeignAuthority | undefined {
  const { rotation } = secrets;
  const former = rotation?.phase === 'issue' ? fingerprintOf(rotation.other.certificate) : undefined;
  const compared = [
    { name: 'Talos', authority: 'os', found: secrets.talosCa, recorded: record.talosCa },
    { name: 'Kubernetes', authority: 'kubernetes', found: secrets.kubernetesCa, recorded: record.kubernetesCa },
  ] as const;
  for (const { name, authority, found, recorded } of compared) {
    if (recorded === undefined || recorded === found) continue;
    if (authority !== rotation?.authority || recorded !== former) return { name, found, recorded };
  }
  return undefined;
}

/** Annotations that the Secret lacks, e.g. because it was restored from an older backup. */
export function missingRecordAnnotations(secrets: ClusterSecrets): Record<string, string> {
  const present = secrets.object.metadata.annotations ?? {};
  const missing = recordFields.flatMap((note) => {
    const value = secrets[note];
    return value === undefined || present[recordAnnotations[note]] !== undefined
      ? []
      : [[recordAnnotations[note], value]];
  });
  return Object.fromEntries(missing);
}

/**
 * The secrets with the fields of the record where the Secret has no annotation. The record must be of the same bundle.
 */
export function withClusterRecord(secrets: ClusterSecrets, record: Partial<ClusterRecord> | undefined): ClusterSecrets {
  return {
    object: secrets.object,
    // A getter, so that the bundles of idle clusters are not kept in memory.
    get bundle() {
      return secrets.bundle;
    },
    talosCa: secrets.talosCa,
    kubernetesCa: secrets.kubernetesCa,
    rotation: secrets.rotation,
    authorities: secrets.authorities,
    trust: secrets.trust,
    kubernetesVersion: secrets.kubernetesVersion ?? record?.kubernetesVersion,
    nodePrefix: secrets.nodePrefix ?? record?.nodePrefix,
    endpoint: secrets.endpoint ?? record?.endpoint,
    bootstrapMachine: secrets.bootstrapMachine ?? record?.bootstrapMachine,
    bootstrapRequest: secrets.bootstrapRequest ?? record?.bootstrapRequest,
    bootstrappedAt: secrets.bootstrappedAt ?? record?.bootstrappedAt,
  };
}
