import { systemClock } from '../../src/lib/clock.ts';
import type { Call } from '../world/switchboard.ts';
import { join } from '../world/truenas-platform/rehearsal.ts';
import { type Durable, end, Process, room, start } from '../world/truenas-platform/scene.ts';
import { type Figure, ratio } from './figure.ts';
import { prepareKnownWay, walkKnownWay } from './nas-known-way.ts';

/** A NAS with room for all that is measured on it. */
export const roomy = { memoryMiB: 524_288, pools: [{ name: 'tank', sizeBytes: 2 ** 43 }] };

/** What every call of the NAS takes, in real time. */
export const latencyMs = 100;

/** Machines that are made at the same time. */
const numbers = [1, 3, 6];

/** Calls that each machine costs, from nothing to a member and back, with its image there, ÷ those of the known way. */
export async function measureNasCalls(say: (line: string) => void): Promise<readonly Figure[]> {
  const theirs = await knownCalls();
  say(`the known way: ${theirs.join(', ')}`);
  const figures: Figure[] = [];
  for (const count of numbers) {
    await start({ seed: roomy });
    try {
      const process = new Process(systemClock);
      await liveTogether(process, ['warm-up']);
      room.room.setLatency('*', latencyMs);
      const names = Array.from({ length: count }, (_, i) => `of-${count}-${i}`);
      const calls = await during(() => liveTogether(process, names));
      const each = calls.length / count;
      say(`${count} at a time: ${listed(calls)}`);
      const whose = count === 1 ? 'one machine alone' : `each of ${count} machines at a time`;
      const words = `${each.toFixed(1)} ÷ ${theirs.length}: ${listed(calls)}`;
      const what = `TrueNAS calls for ${whose}, from nothing to a member and back, ÷ those of the known way`;
      figures.push(ratio(what, each, theirs.length, 0.7, words));
    } finally {
      await end();
    }
  }
  return figures;
}

async function liveTogether(process: Process, names: readonly string[]): Promise<void> {
  const durables = names.map((name) => ({ name, durable: { progress: undefined } as Durable }));
  await Promise.all(durables.map(({ name, durable }) => process.walk('provision', name, durable)));
  for (const { durable } of durables) join(durable);
  await Promise.all(durables.map(({ name, durable }) => process.walk('release', name, durable)));
}

async function knownCalls(): Promise<readonly string[]> {
  await start({ seed: roomy });
  try {
    const client = await room.login();
    await prepareKnownWay(client, room.upload);
    await walkKnownWay(client, 'warm_up');
    return await during(() => walkKnownWay(client, 'counted'));
  } finally {
    await end();
  }
}

/** Names of the calls at the NAS meanwhile, but for logins, signs of life, and questions about jobs that last. */
async function during(work: () => Promise<void>): Promise<readonly string[]> {
  const calls: Call[] = [];
  const hush = room.switchboard.onCall((call) => void calls.push(call));
  await work();
  hush();
  const names = calls.filter((call) => call.room === 'truenas').map(({ name }) => name);
  return names.filter((name) => !/^(auth\.|core\.)/.test(name));
}

function listed(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count === 1 ? `\`${name}\`` : `\`${name}\` ×${count}`)).join(', ');
}
