import { expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { noLog } from '../../lib/log.ts';
import { FleetMeasurements } from './fleet-measurements.ts';

const system = { system: 'nas', configs: ['home'], volumes: [] };

function fixture() {
  const clock = new ManualClock();
  const state = { reads: 0, changes: 0, isDown: false };
  const heldAddresses = async () => {
    state.reads += 1;
    if (state.isDown) throw new Error('down');
    return new Set([`10.0.0.${state.reads}`]);
  };
  const { signal } = new AbortController();
  const measurements = new FleetMeasurements(
    { heldAddresses },
    {
      clock,
      log: noLog,
      signal,
      changed: () => {
        state.changes += 1;
      },
    },
  );
  return { clock, state, measurements };
}

it('reads nothing until somebody looks, and then at most once a minute', async () => {
  const { clock, state, measurements } = fixture();
  await clock.advance(600_000);
  expect(state.reads).toBe(0);
  for (let i = 0; i < 5; i += 1) measurements.refresh();
  await clock.advance(59_000);
  measurements.refresh();
  expect([state.reads, state.changes]).toEqual([1, 1]);
  await clock.advance(1000);
  measurements.refresh();
  await clock.settle();
  expect(state.reads).toBe(2);
});

it('keeps what was read when a read fails', async () => {
  const { clock, state, measurements } = fixture();
  measurements.refresh();
  await clock.settle();
  state.isDown = true;
  await clock.advance(60_000);
  measurements.refresh();
  await clock.settle();
  expect([...(measurements.current.heldAddresses ?? [])]).toEqual(['10.0.0.1']);
});

it('has the systems while this process leads', async () => {
  const { clock, measurements } = fixture();
  measurements.refresh();
  await clock.settle();
  expect(measurements.current.systems).toEqual([]);
  measurements.useSystems(async () => [system]);
  measurements.refresh();
  await clock.settle();
  expect(measurements.current.systems).toEqual([system]);
  measurements.useSystems(undefined);
  expect(measurements.current.systems).toEqual([]);
});
