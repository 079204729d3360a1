import { z } from 'zod';
import type { Cluster } from '../../api/openmcp/types.ts';
import { LruMap } from '../../lib/lru-map.ts';
import { formatTime } from '../../lib/text.ts';
import { clusterReports } from '../shared/cluster-report.ts';
import { isSamePlace, type PublicationPlace, publicationForms } from './publication.ts';

const timeSchema = z.iso.datetime().transform((text) => new Date(text));

/** More than the forms, in present and former namespaces. */
const maxEntries = 16;

/** What is known of the publication of a Cluster. An entry is recorded before anything of it exists. */
const Record = z.object({
  /** Name of the Cluster for consumers. */
  name: z.string().optional(),
  forms: z
    .array(
      z.object({
        form: z.enum(publicationForms),
        namespace: z.string(),
        /** Since when it is published. */
        since: timeSchema.optional(),
      }),
    )
    .max(maxEntries)
    .default([]),
  /** The Cluster is being deleted: since when everything is being withdrawn, and since when nothing is left. */
  withdrawal: z.object({ since: timeSchema, gone: timeSchema.optional() }).optional(),
});
export type PublicationRecord = z.infer<typeof Record>;
export type PublicationEntry = PublicationRecord['forms'][number];

const noPublication: PublicationRecord = { forms: [] };

const recordField = clusterReports.publish.field;

/** What the status says. */
const readRecord = ({ status }: Cluster): PublicationRecord =>
  Record.safeParse(status?.providerStatus?.[recordField]).data ?? noPublication;

/** Undefined: nothing is or was published. */
export function renderPublicationRecord({ name, forms, withdrawal }: PublicationRecord): object | undefined {
  if (forms.length === 0 && !withdrawal) return undefined;
  return {
    name,
    forms: forms.map(({ since, ...place }) => ({ ...place, ...(since && { since: formatTime(since) }) })),
    ...(withdrawal && {
      withdrawal: {
        since: formatTime(withdrawal.since),
        ...(withdrawal.gone && { gone: formatTime(withdrawal.gone) }),
      },
    }),
  };
}

export const findEntry = (record: PublicationRecord, place: PublicationPlace): PublicationEntry | undefined =>
  record.forms.find((entry) => isSamePlace(entry, place));

/** More than the clusters of an instance. The status of an evicted one is read again. */
const maxRemembered = 10_000;

/**
 * The records that this process has written. The status of a Cluster has another writer, which may put back an older one;
 * it is written again then.
 */
export class PublicationMemory {
  readonly #records = new LruMap<string, PublicationRecord>(maxRemembered);

  recordOf(cluster: Cluster): PublicationRecord {
    return this.#records.get(cluster.metadata.uid ?? '') ?? readRecord(cluster);
  }

  remember({ metadata }: Cluster, record: PublicationRecord): void {
    this.#records.set(metadata.uid ?? '', record);
  }
}
