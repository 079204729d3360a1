import { z } from 'zod';
import { annotations } from '../../../api/names.ts';
import type { Cluster } from '../../../api/openmcp/types.ts';
import type { ClusterSecrets } from './cluster-secrets.ts';

/** Key of `status.providerStatus` of a Cluster under which the record lies. */
export const clusterRecordKey = 'record';

/**
 * What was decided once about a cluster and must never be decided again. It lies on the Secret of the cluster as annotations and in
 * the status of the Cluster, so that losing one of them loses nothing. No field is secret.
 */
const ClusterRecord = z.object({
  /** SHA-256 of the certificate of the Talos CA: the one bundle that belongs to this cluster. */
  talosCa: z.string().regex(/^[0-9a-f]{64}$/),
  kubernetesVersion: z.string().max(32).optional(),
  nodePrefix: z.string().max(63).optional(),
  endpoint: z.string().max(512).optional(),
  bootstrapMachine: z.string().max(253).optional(),
  bootstrapRequest: z.string().max(256).optional(),
  bootstrappedAt: z.string().max(64).optional(),
});
export type ClusterRecord = z.infer<typeof ClusterRecord>;

type RecordField = Exclude<keyof ClusterRecord, 'talosCa'>;

/** The annotation of the Secret that says the same. */
const recordAnnotations: Readonly<Record<RecordField, string>> = {
  kubernetesVersion: annotations.kubernetesVersion,
  nodePrefix: annotations.nodePrefix,
  endpoint: annotations.endpoint,
  bootstrapMachine: annotations.bootstrapMachine,
  bootstrapRequest: annotations.bootstrapRequest,
  bootstrappedAt: annotations.bootstrappedAt,
};
const recordFields = Object.keys(recordAnnotations) as RecordField[];

/** What the status of a Cluster says; undefined when it holds nothing that we wrote. */
export function readClusterRecord(cluster: Cluster): ClusterRecord | undefined {
  const parsed = ClusterRecord.safeParse(cluster.status?.providerStatus?.[clusterRecordKey]);
  return parsed.success ? parsed.data : undefined;
}

/** What the status of a Cluster is to say about these secrets. */
export function toClusterRecord(secrets: ClusterSecrets): ClusterRecord {
  const known = recordFields.flatMap((note) => (secrets[note] === undefined ? [] : [[note, secrets[note]] as const]));
  return { talosCa: secrets.talosCa, ...Object.fromEntries(known) };
}

/** Annotations that the Secret lacks, e.g. because it came back from a backup that was older than they are. */
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

/** What the Secret says, and where it says nothing what the record of the same bundle does. */
export function withClusterRecord(secrets: ClusterSecrets, record: Partial<ClusterRecord> | undefined): ClusterSecrets {
  return {
    object: secrets.object,
    // Still read when it is asked for: the bundles of clusters at rest are not held.
    get bundle() {
      return secrets.bundle;
    },
    talosCa: secrets.talosCa,
    trust: secrets.trust,
    kubernetesVersion: secrets.kubernetesVersion ?? record?.kubernetesVersion,
    nodePrefix: secrets.nodePrefix ?? record?.nodePrefix,
    endpoint: secrets.endpoint ?? record?.endpoint,
    bootstrapMachine: secrets.bootstrapMachine ?? record?.bootstrapMachine,
    bootstrapRequest: secrets.bootstrapRequest ?? record?.bootstrapRequest,
    bootstrappedAt: secrets.bootstrappedAt ?? record?.bootstrappedAt,
  };
}
