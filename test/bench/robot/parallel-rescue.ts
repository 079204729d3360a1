import { describeVerdict, openRobotPlatformFixture } from '../../platforms/hetzner-robot/robot-platform-fixture.ts';
import { type Measurement, ratioMeasurement } from '../measurement.ts';

/** A hundred servers in parallel, with a limit of fifty resets an hour. */
export async function measureParallelRescue(): Promise<Measurement> {
  const numbers = Array.from({ length: 100 }, (_, i) => 3141000 + i);
  const fixture = await openRobotPlatformFixture(
    { network: '127.42.203', servers: numbers.map((number) => ({ number, disks: [{}] })) },
    0.04,
  );
  try {
    for (const number of numbers) fixture.hosts.add(number);
    const life = fixture.start();
    const started = fixture.clock.now().getTime();
    await Promise.all(
      numbers.map(async (number) => {
        const end = await life.walk(
          'provision',
          `rush-${number}`,
          { progress: undefined },
          undefined,
          'rescue-entered',
        );
        if (describeVerdict(end) !== 'finished') throw new Error(describeVerdict(end));
      }),
    );
    const took = (fixture.clock.now().getTime() - started) / 1000;
    // The second fifty have to wait for an hour, and each needs a minute for self test, network boot and loading.
    const bound = 3600 + 160;
    return ratioMeasurement(
      '100 servers into rescue at once, with 50 resets an hour ÷ the least possible',
      took,
      bound,
      1.2,
      `${Math.round(took)} s ÷ ${bound} s of simulated time`,
    );
  } finally {
    await fixture.close();
  }
}
