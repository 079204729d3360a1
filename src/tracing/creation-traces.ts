import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { Clock } from '../lib/clock.ts';
import { ProviderError } from '../lib/errors.ts';
import { LruMap } from '../lib/lru-map.ts';
import type { CompletedCall } from '../lib/observers.ts';
import type { TracedCluster, TracedStep, WorkTracer } from '../lib/work-tracer.ts';

/** More than the Clusters that are created at once. */
const maxClusters = 1000;
/** A cluster that is not ready for days must not send spans without end. */
const maxSpansOfCluster = 2000;
/** More than the Machines that are created at once. */
const maxOpenSteps = 10_000;

interface OpenStep {
  readonly step: string;
  readonly span: Span;
  readonly parent: Context;
  runs: number;
}

/** Starts the span of a whole creation, whose ID its parts know before. */
export interface CreationTracer extends Pick<Tracer, 'startSpan'> {
  /** The next span gets these IDs. */
  useIds(ids: { readonly traceId: string; readonly spanId: string }): void;
}

/**
 * One trace for each Cluster, from its creation to the first time that it is ready: a span for each step of its Machines and
 * each action of its controller, and below them the calls to other systems. The ID of the trace follows from the UID of
 * the Cluster, so that it is the same after a restart of the provider. Without `isCreating` nothing is traced.
 */
export class CreationTraces implements WorkTracer {
  readonly #tracer: CreationTracer;
  readonly #clock: Clock;
  readonly #isCreating: (cluster: TracedCluster) => boolean;
  readonly #within = new AsyncLocalStorage<{ readonly cluster: string; readonly context: Context }>();
  readonly #steps = new LruMap<string, OpenStep>(maxOpenSteps);
  readonly #counts = new LruMap<string, number>(maxClusters);

  constructor(tracer: CreationTracer, clock: Clock, isCreating: (cluster: TracedCluster) => boolean) {
    this.#tracer = tracer;
    this.#clock = clock;
    this.#isCreating = isCreating;
  }

  async action<T>(cluster: TracedCluster, name: string, run: () => Promise<T>): Promise<T> {
    const { uid } = cluster;
    if (uid === undefined || !this.#takes(cluster, uid)) return await run();
    const span = this.#tracer.startSpan(name, { startTime: this.#clock.now() }, contextOf(uid));
    const context = trace.setSpan(contextOf(uid), span);
    try {
      return await this.#within.run({ cluster: uid, context }, run);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: codeOf(error) });
      throw error;
    } finally {
      span.end(this.#clock.now());
    }
  }

  async step<T extends { readonly kind: string }>(step: TracedStep, run: () => Promise<T>): Promise<T> {
    const { uid } = step.cluster;
    if (uid === undefined || !this.#takes(step.cluster, uid)) return await run();
    const open = this.#openStep(uid, step);
    open.runs += 1;
    try {
      const outcome = await this.#within.run({ cluster: uid, context: open.parent }, run);
      if (outcome.kind !== 'wait') this.#endStep(step.machine, open, outcome.kind);
      return outcome;
    } catch (error) {
      open.span.addEvent('failed', { 'error.type': codeOf(error) }, this.#clock.now());
      throw error;
    }
  }

  /** A call to another system, which belongs to what runs at the moment. */
  call({ system, name, result, seconds }: CompletedCall): void {
    const within = this.#within.getStore();
    if (!within || !this.#count(within.cluster)) return;
    const end = this.#clock.now();
    const span = this.#tracer.startSpan(
      `${system} ${name}`,
      { kind: SpanKind.CLIENT, startTime: new Date(end.getTime() - seconds * 1000), attributes: { system, result } },
      within.context,
    );
    if (result !== 'ok') span.setStatus({ code: SpanStatusCode.ERROR, message: result });
    span.end(end);
  }

  /** The Cluster is ready for the first time. */
  ready({ uid, namespace, name }: TracedCluster, createdAt: Date): void {
    if (uid === undefined) return;
    this.#tracer.useIds(idsOf(uid));
    const attributes = { 'k8s.namespace.name': namespace, 'cluster.name': name };
    this.#tracer
      .startSpan('Cluster to Ready', { root: true, startTime: createdAt, attributes }, ROOT_CONTEXT)
      .end(this.#clock.now());
    this.#counts.delete(uid);
  }

  #openStep(uid: string, { machine, platform, plan, step, since }: TracedStep): OpenStep {
    const known = this.#steps.get(machine);
    if (known?.step === step) return known;
    const start = since === undefined ? this.#clock.now() : new Date(since);
    const attributes = { machine, platform, plan };
    const span = this.#tracer.startSpan(step, { startTime: start, attributes }, contextOf(uid));
    const open = { step, span, parent: trace.setSpan(contextOf(uid), span), runs: 0 };
    this.#steps.set(machine, open);
    return open;
  }

  #endStep(machine: string, { span, runs }: OpenStep, end: string): void {
    this.#steps.delete(machine);
    span.setAttributes({ end, runs });
    if (end !== 'done') span.setStatus({ code: SpanStatusCode.ERROR, message: end });
    span.end(this.#clock.now());
  }

  #takes(cluster: TracedCluster, uid: string): boolean {
    return this.#isCreating(cluster) && this.#count(uid);
  }

  #count(uid: string): boolean {
    const count = (this.#counts.get(uid) ?? 0) + 1;
    this.#counts.set(uid, count);
    return count <= maxSpansOfCluster;
  }
}

const idsOf = (uid: string) => {
  const hash = createHash('sha256').update(uid).digest('hex');
  return { traceId: hash.slice(0, 32), spanId: hash.slice(32, 48) };
};

/** Below the span of the whole creation, which is sent at its end. */
const contextOf = (uid: string): Context =>
  trace.setSpanContext(ROOT_CONTEXT, { ...idsOf(uid), traceFlags: TraceFlags.SAMPLED, isRemote: true });

/** Messages of errors may quote what other systems answer. */
const codeOf = (error: unknown): string =>
  error instanceof ProviderError ? error.code : error instanceof Error ? error.name : 'error';
