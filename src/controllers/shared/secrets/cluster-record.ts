import { z } from 'zod';
import { annotations } from '../../../api/names.ts';
import type { Cluster } from '../../../api/openmcp/types.ts';
import { type ClusterSecrets, fingerprintOf } from './cluster-secrets.ts';

/** Key of the record in `status.providerStatus` of a Cluster. */
export const clusterRecordKey = 'record';

const fingerprint = z.string().regex(/^[0-9a-f]{64}$/);

/**
 * Decisions about a cluster that are made once and never change. The record exists twice, as annotations of the
 * cluster's Secret and in the status of the Cluster, so that the loss of one copy loses nothing. No field is secret.
 */
const ClusterRecord = z.object({
  /** SHA-256 of the Talos CA certificate. It identifies the bundle of this cluster, and only a rotation changes it. */
  talosCa: fingerprint,
  /** The same of the Kubernetes CA. */
  kubernetesCa: fingerprint.optional(),
  /** While one of these is rotated: the same of the new one, later of the former one. */
  otherCa: fingerprint.optional(),
  kubernetesVersion: z.string().max(32).optional(),
  nodePrefix: z.string().max(63).optional(),
  endpoint: z.string().max(512).optional(),
  bootstrapMachine: z.string().max(253).optional(),
  bootstrapRequest: z.string().max(256).optional(),
  bootstrappedAt: z.string().max(64).optional(),
});
export type ClusterRecord = z.infer<typeof ClusterRecord>;

type RecordField = Exclude<keyof ClusterRecord, 'talosCa' | 'kubernetesCa' | 'otherCa'>;

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
  const { talosCa, kubernetesCa, rotation } = secrets;
  const otherCa = rotation && { otherCa: fingerprintOf(rotation.other.certificate) };
  return { talosCa, kubernetesCa, ...otherCa, ...Object.fromEntries(known) };
}

/** An authority of the Secret that is not the one of this cluster. */
export interface ForeignAuthority {
  readonly name: 'Talos' | 'Kubernetes';
  /** SHA-256 of the certificates. */
  readonly found: string;
  readonly recorded: string;
}

/**
 * The first authority that is not the recorded one. During a rotation there are two, and the record may be older than the
 * Secret, or the Secret of a cache older than the record.
 */
export function findForeignAuthority(
  { talosCa, kubernetesCa }: Pick<ClusterSecrets, 'talosCa' | 'kubernetesCa'>,
  record: ClusterRecord,
): ForeignAuthority | undefined {
  const compared: ForeignAuthority[] = [
    { name: 'Talos', found: talosCa, recorded: record.talosCa },
    { name: 'Kubernetes', found: kubernetesCa, recorded: record.kubernetesCa ?? kubernetesCa },
  ];
  return compared.find(({ found, recorded }) => found !== recorded && found !== record.otherCa);
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
    expiries: secrets.expiries,
    trust: secrets.trust,
    kubernetesVersion: secrets.kubernetesVersion ?? record?.kubernetesVersion,
    nodePrefix: secrets.nodePrefix ?? record?.nodePrefix,
    endpoint: secrets.endpoint ?? record?.endpoint,
    bootstrapMachine: secrets.bootstrapMachine ?? record?.bootstrapMachine,
    bootstrapRequest: secrets.bootstrapRequest ?? record?.bootstrapRequest,
    bootstrappedAt: secrets.bootstrappedAt ?? record?.bootstrappedAt,
  };
}
