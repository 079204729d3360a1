import { Host } from '../../../src/api/host.ts';
import { RobotTestObjects } from '../../e2e/support/objects/robot-test-objects.ts';
import { providerWrites } from '../../e2e/support/observation/provider-calls.ts';
import { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { eventually } from '../../support/eventually.ts';
import type { Measurement } from '../measurement.ts';
import { sumCounts } from '../request-metrics.ts';

/** A thousand unused Hosts, for an hour of the controllers' time. */
export async function measureIdleHosts(say: (line: string) => void): Promise<readonly Measurement[]> {
  const count = 1000;
  const servers = Array.from({ length: count }, (_, i) => ({
    ...{ number: 3150000 + i, power: 'off', disks: [] },
    address: `127.${43 + Math.floor(i / 250)}.204.${(i % 250) + 1}`,
  }));
  const speed = 50;
  const testbed = await Testbed.open({ subnet: '127.42.205', timeScale: 0.01, speed, seeds: { robot: { servers } } });
  try {
    testbed.provider.start();
    const robot = await RobotTestObjects.on(testbed);
    await robot.credentials();
    await robot.config('metal');
    for (const { number } of servers) await robot.host(number);
    const free = async () =>
      (await testbed.platform.list(Host)).items.filter(({ status }) => status?.state === 'Available').length;
    await eventually('all are available', async () => (await free()) === count, 300);
    say('all are available');
    const calls = sumCounts(testbed.world.robot.calls());
    const first = testbed.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 3_600_000 / speed));
    const asked = sumCounts(testbed.world.robot.calls()) - calls;
    const writes = providerWrites(testbed.calls.slice(first)).length;
    return [
      {
        what: 'Writes in an hour with 1,000 idle Hosts',
        measured: String(writes),
        goal: '0',
        reached: writes === 0,
      },
      {
        what: 'Robot calls in that hour, of the 200 that read servers',
        measured: String(asked),
        goal: '< 10 %',
        reached: asked < 20,
      },
    ];
  } finally {
    await testbed.close();
  }
}
