import { once } from 'node:events';
import type { ServerDisk } from '../../hardware.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';
import { deviceAt } from './dd.ts';

const version = 'smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.12.19] (local build)';

/** What the drive tells, in the two forms of the program. */
interface Answer {
  readonly json: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly status: number;
}

/** `smartctl` 7.3, as far as one asks who a drive is and how it feels. */
export const smartctl: RescueProgram = async (process) => {
  const { options, operands, unknown } = parseArguments(process.args.slice(1), {
    short: 'iHAaxjd:n:',
    long: ['info', 'health', 'attributes', 'all', 'xall', 'json?=', 'device=', 'nocheck='],
    same: { info: 'i', health: 'H', attributes: 'A', all: 'a', xall: 'x', json: 'j', device: 'd', nocheck: 'n' },
  });
  const [path = ''] = operands;
  if (unknown !== undefined || path === '') {
    await process.out(`${version}\n\nUse smartctl -h to get a usage summary\n\n`);
    return 1;
  }
  const disk = process.system.files.exists(path, '/') ? deviceAt(process, path)?.access?.disk : undefined;
  if (disk?.smart === 'silent') await hang(process);
  const asks = (letter: string): boolean => [letter, 'a', 'x'].some((one) => options.has(one));
  const { json, text, status } =
    disk && disk.smart !== 'none' ? answerOf(disk, asks) : refusal(`${path}: Unable to detect device type`);
  if (!options.has('j')) {
    await process.out(`${version}\nCopyright (C) 2002-22, Bruce Allen, Christian Franke\n\n${text}\n`);
    return status;
  }
  const whole = {
    json_format_version: [1, 0],
    smartctl: { version: [7, 3], svn_revision: '5338', argv: process.args, ...complaints(json), exit_status: status },
    ...json,
    messages: undefined,
  };
  await process.out(options.get('j') === 'c' ? JSON.stringify(whole) : `${JSON.stringify(whole, undefined, 2)}\n`);
  return status;
};

const complaints = ({ messages }: Answer['json']) => (messages === undefined ? {} : { messages });

/** Sleep that cannot be interrupted: no signal ends it. */
async function hang({ system }: RescueProcess): Promise<never> {
  if (!system.signal.aborted) await once(system.signal, 'abort');
  throw system.signal.reason;
}

const refusal = (what: string): Answer => ({
  json: { messages: [{ string: what, severity: 'error' }] },
  text: `${what}\nPlease specify device type with the -d option.\n\nUse smartctl -h to get a usage summary\n`,
  status: 1,
});

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
  const verdict = `SMART overall-health self-assessment test result: ${passed ? 'PASSED' : 'FAILED!'}`;
  return {
    json: {
      device: { name: `/dev/${name}`, info_name: `/dev/${name}`, ...type },
      ...(asks('i') ? about : {}),
      ...(asks('H') ? { smart_status: { passed, ...(isNvme ? { nvme: { value: warningOf(disk) } } : {}) } } : {}),
      ...(asks('A') ? { ...details, power_on_time: { hours: 31416 }, temperature: { current: degrees(disk) } } : {}),
    },
    text: [
      ...(asks('i') ? [`Device Model:     ${model}`, `Serial Number:    ${serial}`, ''] : []),
      ...(asks('H') ? ['=== START OF SMART DATA SECTION ===', verdict, ''] : []),
    ].join('\n'),
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
