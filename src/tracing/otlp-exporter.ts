import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  RandomIdGenerator,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { CreationTracer } from './creation-traces.ts';

const timeoutMillis = 10_000;

interface TracedProgram {
  /** `--provider-name`. */
  readonly provider: string;
  readonly version: string;
}

export interface TraceExport {
  readonly tracer: CreationTracer;
  /** Sends what is left. */
  close(): Promise<void>;
}

/** Spans are sent to `endpoint` as JSON over HTTP, in batches and in the background; what cannot be sent is dropped. */
export function exportTraces({ endpoint, ...program }: TracedProgram & { readonly endpoint: string }): TraceExport {
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis });
  return createTracer(program, new BatchSpanProcessor(exporter));
}

export function createTracer({ provider, version }: TracedProgram, processor: SpanProcessor): TraceExport {
  const random = new RandomIdGenerator();
  let next: { readonly traceId: string; readonly spanId: string } | undefined;
  const spans = new BasicTracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'cluster-provider-talos',
      'service.version': version,
      'service.instance.id': provider,
    }),
    idGenerator: {
      generateTraceId: () => next?.traceId ?? random.generateTraceId(),
      generateSpanId: () => next?.spanId ?? random.generateSpanId(),
    },
    spanProcessors: [processor],
  });
  const inner = spans.getTracer('cluster-provider-talos', version);
  const tracer: CreationTracer = {
    startSpan: (name, options, context) => {
      const span = inner.startSpan(name, options, context);
      next = undefined;
      return span;
    },
    useIds: (ids) => {
      next = ids;
    },
  };
  return { tracer, close: async () => await spans.shutdown() };
}
