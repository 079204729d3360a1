import type { Machine } from '../../../src/api/machine.ts';

const textOf = ({ status }: Machine, fact: string): string => String(status?.progress?.facts[fact] ?? '');

/** A sentence from when this can be said of the server of a machine that is being made. */
const moment =
  (say: (machine: Machine) => string | undefined) =>
  (machine: Machine): string | undefined => {
    if (machine.status?.progress?.plan !== 'provision') return undefined;
    const words = say(machine);
    return words ? `${textOf(machine, 'host')} is ${words}` : undefined;
  };

const isPast = ({ status }: Machine, steps: readonly string[]): boolean => steps.includes(status?.progress?.step ?? '');

/** From a server that somebody has to a node of a cluster. */
export const moments = [
  moment((machine) => {
    const boot = textOf(machine, 'rescueBootId');
    return boot && `proven to be in its rescue system: boot ${boot.slice(0, 8)}, card ${textOf(machine, 'mac')}`;
  }),
  moment((machine) => {
    const erase = textOf(machine, 'erase');
    const disks = erase && (JSON.parse(erase) as { serial: string }[]).map(({ serial }) => serial);
    return disks ? `inspected: of its disks ${disks.join(', ')} will be erased and no other` : undefined;
  }),
  moment((machine) => {
    const sum = textOf(machine, 'compressedSha256');
    return sum && `written, read back and compared: image ${sum.slice(0, 12)}, ${textOf(machine, 'bytes')} bytes`;
  }),
  moment((machine) =>
    isPast(machine, ['config-applied', 'await-talos-api', 'await-installation', 'await-member'])
      ? 'running Talos from its disk, in maintenance mode'
      : undefined,
  ),
  moment((machine) => textOf(machine, 'joined') && `a ${machine.spec.role} of the cluster`),
];
