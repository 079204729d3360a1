import { readSignatures } from '../../../disk-format/signatures.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';
import { deviceAt } from './dd.ts';

/** `mdadm --stop DEVICE`. */
const mdadm: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { long: ['stop'] });
  const [path = ''] = operands;
  if (!options.has('stop')) return await process.fail('only --stop is simulated', 2);
  try {
    const { storage } = process.system;
    const device = deviceAt(process, path);
    const array = storage.arrays.find(({ name }) => name === device?.name);
    if (!array) return await process.fail(`${path} does not appear to be an md device`);
    storage.stop(array);
    await process.error(`mdadm: stopped ${path}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    const isBusy = error.code === 'EBUSY';
    return await process.fail(
      isBusy ? `Cannot get exclusive access to ${path}` : `error opening ${path}: ${error.message}`,
    );
  }
};

/** `pvs` and `lvs`: some fields, without headings. */
const report =
  (rows: (process: RescueProcess) => readonly Readonly<Record<string, string>>[]): RescueProgram =>
  async (process) => {
    const { options } = parseArguments(process, { short: 'o:', long: ['noheadings'] });
    const fields = options.get('o')?.split(',') ?? [];
    if (!options.has('noheadings') || fields.length === 0)
      return await process.fail('only --noheadings with -o is simulated', 3);
    const lines = rows(process).map((row) => `  ${fields.map((field) => row[field] ?? '?').join(' ')}\n`);
    await process.out(lines.join(''));
    return 0;
  };

const pvs = report(({ system: { storage } }) => {
  const devices = storage.devices();
  const groups = storage.groups(devices);
  return devices
    .filter((device) => device.type !== 'lvm' && readSignatures(device.read, device.size)[0]?.type === 'LVM2_member')
    .map(({ name }) => ({
      pv_name: `/dev/${name}`,
      vg_name: groups.find(({ physical }) => physical.includes(name))?.name ?? '',
    }));
});

const lvs = report(({ system: { storage } }) =>
  storage.groups().map(({ name, active }) => ({ lv_name: 'data', vg_name: name, lv_attr: active ? 'active' : '' })),
);

/** `vgchange -an GROUP`. */
const vgchange: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'a:' });
  const { storage } = process.system;
  const [name = ''] = operands;
  if (options.get('a') !== 'n') return await process.fail('only -an is simulated', 3);
  if (!storage.groups().some((group) => group.name === name))
    return await process.fail(`Volume group "${name}" not found`, 5);
  const volume = storage.devices().find((device) => device.volume?.group === name);
  if (volume && storage.isHeld(volume)) return await process.fail(`Logical volume ${name}/data in use.`, 5);
  storage.deactivate(name);
  await process.out(`  0 logical volume(s) in volume group "${name}" now active\n`);
  return 0;
};

export const arrayTools: Readonly<Record<string, RescueProgram>> = { mdadm, pvs, lvs, vgchange };
