import { z } from 'zod';
import { type Machine, remediationActions } from '../../api/machine.ts';
import type { Cluster } from '../../api/openmcp/types.ts';

const Remediation = z.object({
  machine: z.string().max(253),
  pool: z.string().max(16),
  action: z.enum(remediationActions),
  at: z.iso.datetime(),
});

/** A restart or replacement that was decided. */
export type Remediation = z.infer<typeof Remediation>;

/** The field of `status.providerStatus`. */
export const remediationRecordKey = 'remediation';

/** Limits count what was done within a day. */
const retainedHours = 24;
const maxRecords = 50;

/** What was done for a cluster within the last day, oldest first. */
export function listRemediations({ status }: Cluster, machines: readonly Machine[], now: Date): readonly Remediation[] {
  const { data: recorded = [] } = z.array(Remediation).safeParse(status?.providerStatus?.[remediationRecordKey]);
  // The process may have ended after a request and before its record.
  const requested = machines.flatMap(({ metadata, spec: { pool, remediation } }) =>
    remediation ? [{ machine: metadata.name, pool, action: remediation.action, at: remediation.requestedAt }] : [],
  );
  const byKey = new Map([...recorded, ...requested].map((one) => [`${one.machine} ${one.at}`, one]));
  const since = now.getTime() - retainedHours * 3_600_000;
  return [...byKey.values()]
    .filter(({ at }) => Date.parse(at) > since)
    .sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
    .slice(-maxRecords);
}
