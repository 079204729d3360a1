import { expect, test } from 'vitest';
import type { Host, HostStatus } from '../../api/host.ts';
import type { HostDisk } from '../../engine/host.ts';
import { recordHostEvents } from './events.ts';

const disk = (serial: string, more: Partial<HostDisk> = {}): HostDisk => ({
  ...{ name: 'sda', model: 'EXAMPLE', serial, wwn: '', sizeBytes: 512e9, type: 'ssd', holds: [] },
  ...more,
});
const statusWith = (...disks: HostDisk[]): HostStatus => ({
  ...{ observedGeneration: 1, state: 'Available', conditions: [] },
  hardware: {
    ...{ cpu: { model: 'AMD', threads: 12 }, memoryMiB: 65536, firmware: 'uefi', nics: [] },
    ...{ disks, inspectedAt: '2026-11-21T09:00:00Z' },
  },
});

/** The Events of a Host whose status changes from `before` to `now`. */
function messages(before: HostStatus, now: HostStatus): string[] {
  const found: string[] = [];
  const events = {
    record: (_: unknown, type: string, reason: string, message: string) => found.push(`${type} ${reason}: ${message}`),
  };
  recordHostEvents(events as never, { status: before } as Host, now);
  return found;
}

const well = disk('A', { health: 'Passed', healthMessage: '' });
const failing = disk('A', { health: 'Failing', healthMessage: 'it can only be read' });

test('H7: a failing disk is reported once, on new and on known hardware', () => {
  const text = 'Warning DiskFailing: EXAMPLE A says that it is failing (it can only be read). Have it replaced.';
  expect(messages(statusWith(well, disk('B')), statusWith(failing, disk('B')))).toEqual([text]);
  expect(messages({ ...statusWith(), hardware: undefined }, statusWith(failing))).toEqual([
    expect.stringMatching(/^Normal HardwareFound: /),
    text,
  ]);
  expect(messages(statusWith(failing), statusWith(failing))).toEqual([]);
  expect(messages(statusWith(failing), statusWith(well))).toEqual([]);
});

test('H8: content and health of disks are no change of the hardware', () => {
  expect(messages(statusWith(disk('A')), statusWith({ ...well, holds: ['ext4 on sda1'], powerOnHours: 7 }))).toEqual(
    [],
  );
  expect(messages(statusWith(well), statusWith(well, disk('B')))).toEqual([
    expect.stringMatching(/^Normal HardwareChanged: /),
  ]);
});
