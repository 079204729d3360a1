import { describeVerdict, openRobotPlatformFixture } from '../../platforms/hetzner-robot/robot-platform-fixture.ts';
import type { Measurement } from '../measurement.ts';

/** A single server with realistic hardware delays: the program adds little to them. */
export async function measureServerProvisionTime(): Promise<Measurement> {
  const number = 3140700;
  const fixture = await openRobotPlatformFixture({ network: '127.42.206', servers: [{ number }] }, 0.05);
  try {
    fixture.hosts.add(number);
    const started = fixture.clock.now().getTime();
    const end = await fixture.start().walk('provision', 'alone', { progress: undefined });
    if (describeVerdict(end) !== 'finished') throw new Error(describeVerdict(end));
    const minutes = (fixture.clock.now().getTime() - started) / 60_000;
    return {
      what: 'One server from free to waiting for its configuration',
      measured: `${minutes.toFixed(1)} min of simulated time, in which a board starts twice, and loads its rescue system for 100 s`,
      goal: '',
    };
  } finally {
    await fixture.close();
  }
}
