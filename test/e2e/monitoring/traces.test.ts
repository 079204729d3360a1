import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { type OtlpReceiver, type OtlpSpan, startOtlpReceiver } from '../../world/otlp/otlp-receiver.ts';
import { collectSecrets, encodingsOf } from '../support/observation/secret-leaks.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const receiverAddress = { host: '127.43.103.1', port: 18_318 };
const ref = { namespace: 'shop', name: 'main' };

describe('the traces of a cluster in creation', () => {
  let receiver: OtlpReceiver;
  beforeAll(async () => {
    receiver = await startOtlpReceiver(receiverAddress.host, receiverAddress.port);
  });
  const open = startTestbed({
    subnet: '127.43.102',
    provider: { otlpEndpoint: `http://${receiverAddress.host}:${receiverAddress.port}` },
  });
  afterAll(async () => await receiver?.close());

  const spans = (): readonly OtlpSpan[] => receiver.spans;
  const root = (): OtlpSpan | undefined => spans().find(({ name }) => name === 'Cluster to Ready');
  const attributeOf = ({ attributes }: OtlpSpan, key: string): unknown =>
    Object.values(attributes.find((one) => one.key === key)?.value ?? {})[0];
  const named = (name: string) => spans().filter((span) => span.name === name);

  prepareTestbed(open, async ({ objects }) => {
    await objects.credentials();
    await objects.config('home');
    await objects.cluster(ref);
    // Batches are sent every five seconds.
    await eventually('the trace is complete', () => root() !== undefined, 300);
  });

  it('are one trace: every span is below the one of the whole creation', () => {
    expect(new Set(spans().map(({ traceId }) => traceId)).size).toBe(1);
    expect(new Set(spans().map(({ spanId }) => spanId)).size).toBe(spans().length);
    const known = new Set(spans().map(({ spanId }) => spanId));
    const withoutParent = spans().filter(({ parentSpanId }) => !parentSpanId);
    expect(withoutParent.map(({ name }) => name)).toEqual(['Cluster to Ready']);
    expect(spans().filter(({ parentSpanId }) => parentSpanId && !known.has(parentSpanId))).toEqual([]);
  });

  it('have a span for each step of each machine', async () => {
    const machines = await open().objects.machines(ref);
    expect(machines.length).toBeGreaterThan(0);
    for (const step of ['disk-created', 'vm-created', 'powered-on', 'await-member']) {
      const found = named(step).map((span) => attributeOf(span, 'machine'));
      expect(found.sort(), step).toEqual(machines.map(({ metadata }) => metadata.name).sort());
    }
    for (const span of spans())
      expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano));
  });

  it('have the actions of the controller of the Cluster', () => {
    for (const action of ['create-secrets', 'create-machines', 'bootstrap', 'prove'])
      expect(named(action).length, action).toBeGreaterThan(0);
  });

  it('have the calls to the NAS and to the nodes below the step that makes them', () => {
    const [created] = named('vm-created');
    const calls = spans().filter(({ parentSpanId }) => parentSpanId === created?.spanId);
    expect(calls.map((span) => attributeOf(span, 'system'))).toContain('truenas');
    expect(calls.map(({ name }) => name)).toContain('truenas vm.create');
    expect(spans().some((span) => attributeOf(span, 'system') === 'talos')).toBe(true);
  });

  it('have no secret', () => {
    const text = receiver.bodies.join('\n');
    const leaked = collectSecrets(open()).filter(({ text: secret }) =>
      encodingsOf(secret).some((form) => text.includes(form)),
    );
    expect(leaked.map(({ what }) => what)).toEqual([]);
  });
});
