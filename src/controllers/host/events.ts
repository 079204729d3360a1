import { isDeepStrictEqual } from 'node:util';
import type { Host, HostStatus } from '../../api/host.ts';
import type { HostState } from '../../engine/host.ts';
import type { EventRecorder } from '../../kube/event-recorder.ts';
import { hostStatusOf } from './availability.ts';

const stateMessages: Readonly<Record<HostState, (status: HostStatus) => string>> = {
  Pending: () => 'The server has not been checked yet.',
  Available: () => 'It is free.',
  Claimed: ({ machineRef }) => `Machine ${machineRef?.name} holds it.`,
  Provisioned: ({ machineRef }) => `Its disks are written to for Machine ${machineRef?.name}.`,
  Deprovisioning: ({ machineRef }) => `It is cleared of what was written for Machine ${machineRef?.name}.`,
  Maintenance: () => 'It is kept out of use.',
  Failed: ({ message }) => message ?? 'It cannot be used.',
};

/** Records Events for changes of a Host: `host` is the previous object, `now` the written status. */
export function recordHostEvents(events: Pick<EventRecorder, 'record'>, host: Host, now: HostStatus): void {
  const before = hostStatusOf(host);
  if (before.state !== now.state)
    events.record(host, now.state === 'Failed' ? 'Warning' : 'Normal', now.state, stateMessages[now.state](now));
  if (now.hardware && !isSameHardware(before.hardware, now.hardware))
    events.record(
      host,
      'Normal',
      before.hardware ? 'HardwareChanged' : 'HardwareFound',
      describeHardware(now.hardware),
    );
  for (const { model, serial, wwn, healthMessage } of newlyFailingDisks(before.hardware, now.hardware))
    events.record(
      host,
      'Warning',
      'DiskFailing',
      `${model} ${serial || wwn} says that it is failing${healthMessage ? ` (${healthMessage})` : ''}. Have it replaced.`,
    );
}

type Hardware = NonNullable<HostStatus['hardware']>;

function newlyFailingDisks(before: Hardware | undefined, now: Hardware | undefined): Hardware['disks'] {
  const failing = (hardware: Hardware | undefined) =>
    hardware?.disks.filter(({ health }) => health === 'Failing') ?? [];
  const known = failing(before);
  return failing(now).filter((disk) => !known.some(({ serial, wwn }) => serial === disk.serial && wwn === disk.wwn));
}

/** The content of the disks is not compared. */
function isSameHardware(a: Hardware | undefined, b: Hardware): boolean {
  const parts = ({ cpu, memoryMiB, firmware, nics, disks }: Hardware) => [
    ...[cpu, memoryMiB, firmware, nics.map(({ mac }) => mac).sort()],
    disks.map(({ serial, wwn, sizeBytes }) => `${serial} ${wwn} ${sizeBytes}`).sort(),
  ];
  return a !== undefined && isDeepStrictEqual(parts(a), parts(b));
}

function describeHardware({ cpu, memoryMiB, nics, disks }: Hardware): string {
  const names = disks.map(({ model, serial, sizeBytes }) => `${model} ${serial} (${Math.round(sizeBytes / 1e9)} GB)`);
  const cards = nics.map(({ mac, speedMbps }) => `${mac} (${speedMbps} Mbit/s)`);
  return `${cpu.model} with ${cpu.threads} threads, ${memoryMiB} MiB; disks ${names.join(', ')}; network cards ${cards.join(', ')}.`;
}
