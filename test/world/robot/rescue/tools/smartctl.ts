import { once } from 'node:events';
import type { ServerDisk } from '../../hardware.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';
import { deviceAt } from './dd.ts';

/** The drive's answer, and the exit status. */
interface Answer {
  readonly json: Readonly<Record<string, unknown>>;
  readonly status: number;
}

/** `smartctl --json=c` 7.3 with `-i`, `-H` and `-A`: identity, health and attributes of a drive. */
export const smartctl: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'iHA', long: ['json='] });
  const [path = ''] = operands;
  if (options.get('json') !== 'c') return await process.fail('only --json=c is simulated');
  const disk = process.system.files.exists(path, '/') ? deviceAt(process, path)?.access?.disk : undefined;
  if (disk?.smart === 'silent') await hang(process);
  const { json, status } =
    disk && disk.smart !== 'none'
      ? answerOf(disk, (letter) => options.has(letter))
      : { json: { messages: [{ string: `${path}: Unable to detect device type`, severity: 'error' }] }, status: 1 };
  const { messages, ...rest } = json as Answer['json'];
  const about = { version: [7, 3], argv: process.args, ...(messages ? { messages } : {}), exit_status: status };
  await process.out(JSON.stringify({ json_format_version: [1, 0], smartctl: about, ...rest }));
  return status;
};

/** Sleep that cannot be interrupted: no signal ends it. */
async function hang({ system }: RescueProcess): Promise<never> {
  if (!system.signal.aborted) await once(system.signal, 'abort');
  throw system.signal.reason;
}

function answerOf(disk: ServerDisk, asks: (letter: string) => boolean): Answer {
  const isNvme = disk.bus === 'nvme';
  // smartctl takes any critical warning for a failure, that of the temperature, too.
  const passed = disk.smart !== 'failing' && !(isNvme && disk.smart === 'hot');
  const { path: _, name, model, serial, sizeBytes, sectorBytes, rotational } = disk;
  const type = isNvme ? { type: 'nvme', protocol: 'NVMe' } : { type: 'sat', protocol: 'ATA' };
  const details = isNvme ? nvmeLog(disk) : ataAttributes(disk);
  const about = {
    ...{ model_name: model, serial_number: serial, user_capacity: { bytes: sizeBytes } },
    ...{ logical_block_size: sectorBytes, ...(isNvme ? {} : { rotation_rate: rotational ? 7200 : 0 }) },
  };
  return {
    json: {
      device: { name: `/dev/${name}`, info_name: `/dev/${name}`, ...type },
      ...(asks('i') ? about : {}),
      ...(asks('H') ? { smart_status: { passed, ...(isNvme ? { nvme: { value: warningOf(disk) } } : {}) } } : {}),
      ...(asks('A') ? { ...details, power_on_time: { hours: 31416 }, temperature: { current: degrees(disk) } } : {}),
    },
    // Bit 3: the drive says it is failing. Bit 4: attributes below their threshold.
    status: (passed ? 0 : 8) | (!isNvme && disk.smart === 'failing' && asks('A') ? 16 : 0),
  };
}

const degrees = ({ smart }: ServerDisk): number => (smart === 'hot' ? 86 : 34);
const warningOf = ({ smart }: ServerDisk): number => (smart === 'failing' ? 4 : smart === 'hot' ? 2 : 0);

const nvmeLog = (disk: ServerDisk) => ({
  nvme_smart_health_information_log: {
    ...{ critical_warning: warningOf(disk), temperature: degrees(disk), available_spare: 100 },
    ...{ available_spare_threshold: 10, percentage_used: disk.smart === 'worn' ? 104 : 3, power_on_hours: 31416 },
    media_errors: disk.smart === 'failing' ? 12 : 0,
  },
});

function ataAttributes({ smart }: ServerDisk) {
  const isFailing = smart === 'failing';
  const moved = isFailing ? 2040 : smart === 'worn' ? 8 : 0;
  const row = (id: number, name: string, value: number, thresh: number, prefailure: boolean, raw: number) => ({
    ...{ id, name, value, worst: value, thresh },
    when_failed: thresh > 0 && value <= thresh ? 'now' : '',
    flags: { value: prefailure ? 51 : 50, prefailure, updated_online: true },
    raw: { value: raw, string: String(raw) },
  });
  const table = [
    row(5, 'Reallocated_Sector_Ct', isFailing ? 1 : 100, 10, true, moved),
    row(9, 'Power_On_Hours', 65, 0, false, 31416),
    row(197, 'Current_Pending_Sector', 100, 0, false, isFailing ? 16 : 0),
    row(198, 'Offline_Uncorrectable', 100, 0, false, 0),
  ];
  return { ata_smart_attributes: { revision: 16, table } };
}
