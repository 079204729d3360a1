import { afterAll, describe, expect, it } from 'vitest';
import { createRescueFixture } from '../rescue-fixture.ts';

const blank = { kind: 'blank' } as const;
const box = createRescueFixture({
  disks: { nvme0n1: blank, nvme1n1: blank, sda: blank, sdb: blank },
  smart: { nvme1n1: 'hot', sda: 'failing', sdb: 'none' },
});
afterAll(() => box.close());

describe('smartctl', () => {
  it.each([
    ['-H /dev/nvme0n1', 0],
    ['-H /dev/sda', 8],
    ['-H -A /dev/sda', 24],
    ['-i /dev/sdb', 1],
    ['-H /dev/sdz', 1],
  ])('%s ends with the status of the real one', async (args, status) => {
    expect((await box.sh(`smartctl --json=c ${args}`)).status).toBe(status);
  });

  it('tells what it was asked for as JSON, and nothing else', async () => {
    const ask = async (args: string) => JSON.parse((await box.sh(`smartctl --json=c ${args}`)).stdout);
    expect(await ask('-H /dev/nvme1n1')).toMatchObject({
      smartctl: { exit_status: 8 },
      smart_status: { passed: false, nvme: { value: 2 } },
    });
    expect(await ask('-H /dev/nvme1n1')).not.toHaveProperty('nvme_smart_health_information_log');
    expect(await ask('-A /dev/nvme1n1')).toMatchObject({ nvme_smart_health_information_log: { critical_warning: 2 } });
    expect(await ask('-i /dev/sdb')).toMatchObject({
      smartctl: { messages: [{ string: '/dev/sdb: Unable to detect device type', severity: 'error' }] },
    });
  });

  it('hangs where the drive does, and no signal ends it', async () => {
    const [disk] = box.hardware.disks;
    Object.assign(disk ?? {}, { smart: 'silent' });
    const ask = '{ timeout -k 1 1 smartctl --json=c -H /dev/nvme0n1; echo >/tmp/over; } >/dev/null 2>&1 &';
    expect((await box.sh(`${ask} sleep 60; test -e /tmp/over`)).status).toBe(1);
  });
});
