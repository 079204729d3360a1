import { expect } from 'vitest';
import { z } from 'zod';
import type { Clock } from '../../../src/lib/clock.ts';
import { deadline } from '../../../src/lib/deadline.ts';
import { connect } from '../../../src/platforms/truenas/client.ts';
import { TrueNasConfig } from '../../../src/platforms/truenas/config.ts';
import { releases } from '../../support/releases.ts';
import type { Call } from '../switchboard.ts';
import { until } from '../truenas/testing.ts';
import { clock, config, type Durable, dump, Process, room, shape, start, text } from './scene.ts';

/** Each of them has its turn. */
export const versions = releases;

/** A life without a fault: what there is before and after, what it makes, and which calls of TrueNAS it takes. */
export interface Rehearsal {
  readonly empty: string;
  readonly made: string;
  readonly provision: readonly string[];
  readonly release: readonly string[];
}

/** As if its node had become a member of the cluster: it is asked to shut down before it is taken down. */
export function join(durable: Durable): void {
  if (durable.progress) durable.progress = { ...durable.progress, facts: { ...durable.progress.facts, joined: true } };
}

/** By this clock nothing that a step hands over gets too old, so that no life takes fewer calls. */
export const unhurried: Clock = { ...clock, monotonic: () => performance.now() };

/** Starts a NAS of that release, on which the boot image is cached already, and goes through a life on it. */
export async function rehearse(version: string, { joins = false } = {}): Promise<Rehearsal> {
  await start({ version });
  const first: Durable = { progress: undefined };
  await new Process().walk('provision', 'warm-up', first);
  await new Process().walk('release', 'warm-up', first);
  const empty = text(dump());
  const durable: Durable = { progress: undefined };
  const provision = await namesOf(() => new Process(unhurried).walk('provision', 'shop-cp-0', durable));
  const made = text(shape());
  if (joins) join(durable);
  const release = await namesOf(() => new Process(unhurried).walk('release', 'shop-cp-0', durable));
  expect(text(dump())).toBe(empty);
  return { empty, made, provision, release };
}

async function namesOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const calls: Call[] = [];
  const hush = room.switchboard.onCall((one) => void calls.push(one));
  await work();
  hush();
  // Signs of life, and questions about a job that lasts, come when it is time for them.
  return calls
    .filter(({ name, room }) => room === 'truenas' && !/^core\.(ping|get_jobs)$/.test(name))
    .map(({ name }) => name);
}

/** Has the process told of changes, as a provider is as soon as any machine rests. */
export async function listen(process: Process): Promise<void> {
  const nas = connect({ ...process.context('none', {}), config: TrueNasConfig.parse(config()) });
  let isTold = false;
  nas.onChange(() => {
    isTold = true;
  });
  await nas.read('core.ping', [], z.unknown(), { signal: deadline(10) });
  await until(() => isTold, 'it listens');
}

/** What is on record of a machine whose process ended as it came to that step, before any call of it. */
export async function provisionUpTo(step: string, machine = 'shop-cp-0', change: object = {}): Promise<Durable> {
  const process = new Process();
  const durable: Durable = { progress: undefined };
  const watched: Durable = {
    get progress() {
      return durable.progress;
    },
    set progress(progress) {
      durable.progress = progress;
      if (progress?.step === step) void process.kill();
    },
  };
  await process.walk('provision', machine, watched, change).catch(() => {});
  expect(durable.progress?.step).toBe(step);
  return durable;
}
