import { z } from 'zod';
import type { DiskHealth } from '../../../engine/host.ts';

/** What is missing or not as expected counts as not told: drives, bridges and versions differ. */
const told = <T extends z.ZodType>(part: T) => part.optional().catch(undefined);
const count = z.number().min(0);

const Attribute = z.object({
  id: count,
  name: z.string(),
  /** Empty, `now` or `past`. */
  when_failed: z.string(),
  flags: z.object({ prefailure: z.boolean() }),
  /** The number in `value` can be several in one; the text begins with the one that counts. */
  raw: z.object({ string: z.string() }),
});
type Attribute = z.infer<typeof Attribute>;

/** What we read of `smartctl --json`, version 7.0 and later. */
const Report = z.object({
  smartctl: told(z.object({ messages: told(z.array(z.object({ string: z.string() }))) })),
  smart_status: told(z.object({ passed: z.boolean() })),
  power_on_time: told(z.object({ hours: count })),
  ata_smart_attributes: told(z.object({ table: z.array(Attribute) })),
  nvme_smart_health_information_log: told(
    z.object({ critical_warning: told(count), percentage_used: told(count), media_errors: told(count) }),
  ),
  scsi_grown_defect_list: told(count),
});
type Report = z.infer<typeof Report>;

/**
 * What a drive says of itself; `text` is what smartctl said, undefined: it did not come back in time. Failing is only who
 * says so: sectors that were reallocated, or used up endurance, are told and keep nobody from using the disk.
 */
export function parseHealth(text: string | undefined): DiskHealth {
  if (text === undefined) return { health: 'Unknown', healthMessage: 'it does not answer smartctl in time' };
  const report = Report.safeParse(toJson(text));
  if (!report.success) return { health: 'Unknown', healthMessage: 'smartctl says nothing of it' };
  const { data } = report;
  const [failures, remarks] = [failuresOf(data), remarksOf(data)];
  const hours = data.power_on_time?.hours;
  const rest = hours === undefined ? {} : { powerOnHours: hours };
  const passed = data.smart_status?.passed;
  if (failures.length > 0) return { health: 'Failing', healthMessage: list([...failures, ...remarks]), ...rest };
  if (passed !== undefined) return { health: 'Passed', healthMessage: list(remarks), ...rest };
  const reason = data.smartctl?.messages?.[0]?.string.replace(/^\/dev\/\S+: /, '') ?? 'it tells nothing by SMART';
  return { health: 'Unknown', healthMessage: list([reason, ...remarks]), ...rest };
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** For people, and for a status that is read all day. */
const list = (words: readonly string[]): string => words.join(', ').replace(/\s+/g, ' ').slice(0, 300);

/** Bits of the critical warning (NVM Express Base Specification, SMART / Health Information log). */
const warnings: readonly (readonly [bit: number, what: string])[] = [
  [1, 'its spare blocks are used up'],
  [4, 'it is not reliable any more'],
  [8, 'it can only be read'],
  [16, 'it does not keep its cache without power'],
  [32, 'its persistent memory can only be read'],
];
/** Too hot or too cold, which is no fault of the disk. smartctl counts it as one. */
const temperature = 2;

function failuresOf(report: Report): string[] {
  const log = report.nvme_smart_health_information_log;
  const warning = log?.critical_warning ?? 0;
  const found = [
    ...warnings.filter(([bit]) => (warning & bit) !== 0).map(([, what]) => what),
    ...(report.ata_smart_attributes?.table ?? [])
      .filter(({ when_failed, flags }) => when_failed === 'now' && flags.prefailure)
      .map(({ name }) => `${name} is below its threshold`),
  ];
  const isTold = report.smart_status?.passed === false && warning !== temperature;
  return found.length > 0 || !isTold ? found : ['it expects to fail soon'];
}

function remarksOf(report: Report): string[] {
  const { percentage_used: used = 0, media_errors: errors = 0 } = report.nvme_smart_health_information_log ?? {};
  const warning = report.nvme_smart_health_information_log?.critical_warning ?? 0;
  const attributes = report.ata_smart_attributes?.table ?? [];
  const reallocated = rawOf(attributes, 5) + (report.scsi_grown_defect_list ?? 0);
  const remarks: readonly (readonly [stands: boolean, what: string])[] = [
    [reallocated > 0, `${reallocated} sectors were reallocated`],
    [rawOf(attributes, 197) > 0, `${rawOf(attributes, 197)} sectors are to be reallocated`],
    [rawOf(attributes, 198) > 0, `${rawOf(attributes, 198)} sectors cannot be read`],
    [errors > 0, `${errors} errors of its memory`],
    [used >= 100, `${used} % of its endurance are used`],
    [(warning & temperature) !== 0, 'it is too hot or too cold'],
  ];
  return remarks.filter(([stands]) => stands).map(([, what]) => what);
}

/** `12 (2000 0)` is twelve. */
const rawOf = (attributes: readonly Attribute[], id: number): number =>
  Number(/^\d+/.exec(attributes.find((one) => one.id === id)?.raw.string ?? '')?.[0] ?? 0);
