import { Machine } from '../../../../src/api/machine.ts';
import type { ChaosEvent } from '../event.ts';
import { keySecretOf } from '../fleet-configs.ts';
import type { NasName } from '../fleet-layout.ts';
import { oneNas } from './power.ts';

export const poolFull: ChaosEvent = {
  name: 'full pool while a worker is made again, and room later',
  ...oneNas,
  async strike(fleet, target, number) {
    const nas = fleet.nas(target as NasName);
    const machines = (await fleet.machines()).filter(({ spec }) => spec.role === 'worker');
    const here = machines.filter(({ metadata }) => fleet.vmOf(metadata.name)?.nas === nas);
    const chosen = here[number % Math.max(1, here.length)];
    if (chosen) {
      const { name, uid } = chosen.metadata;
      await fleet.testbed.platform.remove(Machine, { name });
      await fleet.until(`${name} has left`, () => fleet.vmOf(name)?.nas !== nas || isOther(name, uid));
    }
    await nas.fillPool('tank', 2 ** 30);
    await fleet.minutes(10);
    await nas.fillPool('tank', 2 ** 42);

    async function isOther(name: string, uid: string | undefined): Promise<boolean> {
      const found = await fleet.testbed.platform.find(Machine, { name });
      return found?.metadata.uid !== uid;
    }
  },
};

export const keyExpired: ChaosEvent = {
  name: 'the API key of a NAS is revoked, and replaced later',
  ...oneNas,
  async strike(fleet, target, number) {
    const nas = fleet.nas(target as NasName);
    const [former] = nas.nas.keys.filter(({ revokedReason }) => revokedReason === null);
    if (!former) throw new Error(`${target} has no key`);
    nas.revokeKey(former.user);
    await fleet.minutes(5);
    const id = Math.max(...nas.nas.keys.map((key) => key.id)) + 1;
    const apiKey = `${id}-${former.key.slice(-64, -8)}${String(10_000_000 + number)}`;
    nas.nas.keys.push({ id, user: former.user, key: apiKey, expiresAt: null, revokedReason: null });
    await fleet.testbed.objects.credentials(keySecretOf(target as NasName), { username: former.user, apiKey });
  },
};

/** The configuration is older by some minutes in which nothing was made: the pools stay as they are. */
export const nasRestored: ChaosEvent = {
  name: 'restore of the configuration of a NAS from a backup',
  ...oneNas,
  async strike(fleet, target) {
    const nas = fleet.nas(target as NasName);
    const backup = await nas.backUp();
    await fleet.minutes(10);
    await nas.restore(backup);
  },
};
