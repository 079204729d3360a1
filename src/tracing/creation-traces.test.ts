import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { ProviderError } from '../lib/errors.ts';
import type { TracedStep } from '../lib/work-tracer.ts';
import { CreationTraces } from './creation-traces.ts';
import { createTracer } from './otlp-exporter.ts';

const cluster = { uid: 'u-1', namespace: 'shop', name: 'main' };
const step: TracedStep = { cluster, machine: 'main-cp-0', platform: 'truenas', plan: 'provision', step: 'vm-created' };

function fixture(isCreating = true) {
  const exporter = new InMemorySpanExporter();
  const { tracer } = createTracer({ provider: 'talos', version: '1' }, new SimpleSpanProcessor(exporter));
  const clock = new ManualClock();
  const traces = new CreationTraces(tracer, clock, () => isCreating);
  return { clock, traces, spans: () => exporter.getFinishedSpans() };
}

describe('a trace', () => {
  it('has one span for a step that needs several runs, from the first to the last', async () => {
    const { clock, traces, spans } = fixture();
    await traces.step(step, async () => ({ kind: 'wait' }));
    await clock.advance(30_000);
    const failing = async (): Promise<{ kind: string }> => {
      throw new ProviderError('UNREACHABLE', 'a text of others');
    };
    await expect(traces.step(step, failing)).rejects.toThrow();
    await clock.advance(30_000);
    await traces.step(step, async () => ({ kind: 'done' }));
    const [span] = spans();
    expect(spans()).toHaveLength(1);
    expect([span?.name, span?.duration[0], span?.attributes['runs']]).toEqual(['vm-created', 60, 3]);
    expect(span?.events.map(({ attributes }) => attributes)).toEqual([{ 'error.type': 'UNREACHABLE' }]);
    expect(JSON.stringify(span?.events)).not.toContain('a text of others');
  });

  it('begins a step when its record says, which may be before this process', async () => {
    const { clock, traces, spans } = fixture();
    const since = new Date(clock.now().getTime() - 120_000).toISOString();
    await traces.step({ ...step, since }, async () => ({ kind: 'done' }));
    expect(spans()[0]?.duration[0]).toBe(120);
  });

  it('is the same after a restart, and its first span is the parent of all others', async () => {
    const [one, other] = [fixture(), fixture()];
    await one.traces.action(cluster, 'create-secrets', async () => 1);
    other.traces.ready(cluster, other.clock.now());
    const [part, whole] = [one.spans()[0], other.spans()[0]];
    expect(part?.spanContext().traceId).toBe(whole?.spanContext().traceId);
    expect(part?.parentSpanContext?.spanId).toBe(whole?.spanContext().spanId);
    expect(whole?.parentSpanContext).toBeUndefined();
  });

  it('has a call below what makes it, and no call of others', async () => {
    const { traces, spans } = fixture();
    const call = (name: string) => traces.call({ system: 'truenas', name, result: 'ok', seconds: 0.5 });
    call('vm.query');
    await traces.step(step, async () => {
      await Promise.resolve();
      call('vm.create');
      return { kind: 'done' };
    });
    const [made, done] = spans();
    expect(spans().map(({ name }) => name)).toEqual(['truenas vm.create', 'vm-created']);
    expect(made?.parentSpanContext?.spanId).toBe(done?.spanContext().spanId);
  });

  it('is bounded, however long a cluster is not ready', async () => {
    const { traces, spans } = fixture();
    for (let i = 0; i < 3000; i += 1) await traces.action(cluster, 'prove', async () => i);
    expect(spans()).toHaveLength(2000);
  });
});

it('a cluster that was ready before is not traced', async () => {
  const { traces, spans } = fixture(false);
  expect(await traces.action(cluster, 'prove', async () => 'answer')).toBe('answer');
  expect(await traces.step(step, async () => ({ kind: 'done' }))).toEqual({ kind: 'done' });
  expect(spans()).toEqual([]);
});
