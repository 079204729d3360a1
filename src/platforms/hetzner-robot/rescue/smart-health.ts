import { z } from 'zod';
import type { DiskHealth } from '../../../engine/host.ts';

/** A field that is missing or of another type is ignored: drives, bridges and versions differ. */
const optionalField = <T extends z.ZodType>(part: T) => part.optional().catch(undefined);
const count = z.number().min(0);

const SmartAttribute = z.object({
  id: count,
  name: z.string(),
  /** Empty, `now` or `past`. */
  when_failed: z.string(),
  flags: z.object({ prefailure: z.boolean() }),
  /** The number in `value` can encode several. The text begins with the relevant one. */
  raw: z.object({ string: z.string() }),
});
type SmartAttribute = z.infer<typeof SmartAttribute>;

/** The fields of `smartctl --json` in use, version 7.0 and later. */
const SmartReport = z.object({
  smartctl: optionalField(z.object({ messages: optionalField(z.array(z.object({ string: z.string() }))) })),
  smart_status: optionalField(z.object({ passed: z.boolean() })),
  power_on_time: optionalField(z.object({ hours: count })),
  ata_smart_attributes: optionalField(z.object({ table: z.array(SmartAttribute) })),
  nvme_smart_health_information_log: optionalField(
    z.object({
      critical_warning: optionalField(count),
      percentage_used: optionalField(count),
      media_errors: optionalField(count),
    }),
  ),
  scsi_grown_defect_list: optionalField(count),
});
type SmartReport = z.infer<typeof SmartReport>;

/**
 * Health of a drive by its own report; `text` is the output of smartctl, undefined: it did not answer in time. A drive
 * is failing only when it reports so. Reallocated sectors and used endurance are shown but do not exclude the disk.
 */
export function parseSmartHealth(text: string | undefined): DiskHealth {
  if (text === undefined) return { health: 'Unknown', healthMessage: 'smartctl timed out' };
  const report = SmartReport.safeParse(toJson(text));
  if (!report.success) return { health: 'Unknown', healthMessage: 'smartctl reports nothing' };
  const { data } = report;
  const [failures, warnings] = [failuresOf(data), remarksOf(data)];
  const hours = data.power_on_time?.hours;
  const rest = hours === undefined ? {} : { powerOnHours: hours };
  const passed = data.smart_status?.passed;
  if (failures.length > 0)
    return { health: 'Failing', healthMessage: joinMessages([...failures, ...warnings]), ...rest };
  if (passed !== undefined) return { health: 'Passed', healthMessage: joinMessages(warnings), ...rest };
  const reason = data.smartctl?.messages?.[0]?.string.replace(/^\/dev\/\S+: /, '') ?? 'SMART data is not available';
  return { health: 'Unknown', healthMessage: joinMessages([reason, ...warnings]), ...rest };
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Limits the length of text for users and for a status that is read often. */
const joinMessages = (messages: readonly string[]): string => messages.join(', ').replace(/\s+/g, ' ').slice(0, 300);

/** Bits of the critical warning (NVM Express Base Specification, SMART / Health Information log). */
const criticalWarnings: readonly (readonly [bit: number, what: string])[] = [
  [1, 'spare blocks are exhausted'],
  [4, 'reliability is degraded'],
  [8, 'it is read-only'],
  [16, 'the volatile memory backup failed'],
  [32, 'the persistent memory is read-only'],
];
/** Temperature out of range: smartctl counts it as a failure, but the disk is not defective. */
const temperatureBit = 2;

function failuresOf(report: SmartReport): string[] {
  const log = report.nvme_smart_health_information_log;
  const warning = log?.critical_warning ?? 0;
  const found = [
    ...criticalWarnings.filter(([bit]) => (warning & bit) !== 0).map(([, what]) => what),
    ...(report.ata_smart_attributes?.table ?? [])
      .filter(({ when_failed, flags }) => when_failed === 'now' && flags.prefailure)
      .map(({ name }) => `${name} is below its threshold`),
  ];
  const isReported = report.smart_status?.passed === false && warning !== temperatureBit;
  return found.length > 0 || !isReported ? found : ['SMART predicts a failure'];
}

function remarksOf(report: SmartReport): string[] {
  const { percentage_used: used = 0, media_errors: errors = 0 } = report.nvme_smart_health_information_log ?? {};
  const warning = report.nvme_smart_health_information_log?.critical_warning ?? 0;
  const attributes = report.ata_smart_attributes?.table ?? [];
  const reallocated = rawValueOf(attributes, 5) + (report.scsi_grown_defect_list ?? 0);
  const warnings: readonly (readonly [stands: boolean, what: string])[] = [
    [reallocated > 0, `${reallocated} sectors were reallocated`],
    [rawValueOf(attributes, 197) > 0, `${rawValueOf(attributes, 197)} sectors are pending reallocation`],
    [rawValueOf(attributes, 198) > 0, `${rawValueOf(attributes, 198)} sectors cannot be read`],
    [errors > 0, `${errors} media errors`],
    [used >= 100, `${used} % of the endurance used`],
    [(warning & temperatureBit) !== 0, 'the temperature is out of range'],
  ];
  return warnings.filter(([applies]) => applies).map(([, what]) => what);
}

/** `12 (2000 0)` is 12. */
const rawValueOf = (attributes: readonly SmartAttribute[], id: number): number =>
  Number(/^\d+/.exec(attributes.find((one) => one.id === id)?.raw.string ?? '')?.[0] ?? 0);
