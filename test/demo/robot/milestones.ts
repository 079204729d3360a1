import type { Machine } from '../../../src/api/machine.ts';

const factText = ({ status }: Machine, fact: string): string => String(status?.progress?.facts[fact] ?? '');

/** A sentence that is printed once the condition holds for the server of a machine that is being created. */
const milestone =
  (say: (machine: Machine) => string | undefined) =>
  (machine: Machine): string | undefined => {
    if (machine.status?.progress?.plan !== 'provision') return undefined;
    const words = say(machine);
    return words ? `${factText(machine, 'host')} is ${words}` : undefined;
  };

const isPast = ({ status }: Machine, steps: readonly string[]): boolean => steps.includes(status?.progress?.step ?? '');

/** From a rented server to a node of a cluster. */
export const milestones = [
  milestone((machine) => {
    const boot = factText(machine, 'rescueBootId');
    return boot && `proven to be in its rescue system: boot ${boot.slice(0, 8)}, card ${factText(machine, 'mac')}`;
  }),
  milestone((machine) => {
    const erase = factText(machine, 'erase');
    const disks = erase && (JSON.parse(erase) as { serial: string }[]).map(({ serial }) => serial);
    return disks ? `inspected: of its disks ${disks.join(', ')} will be erased and no other` : undefined;
  }),
  milestone((machine) => {
    const sum = factText(machine, 'compressedSha256');
    return sum && `written, read back and compared: image ${sum.slice(0, 12)}, ${factText(machine, 'bytes')} bytes`;
  }),
  milestone((machine) =>
    isPast(machine, ['config-applied', 'await-talos-api', 'await-installation', 'await-member'])
      ? 'running Talos from its disk, in maintenance mode'
      : undefined,
  ),
  milestone((machine) => factText(machine, 'joined') && `a ${machine.spec.role} of the cluster`),
];
