import fastify from 'fastify';
import { z } from 'zod';

const Attribute = z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) });

/** As the protocol has it: IDs in hexadecimal digits, times in nanoseconds as text. */
const OtlpSpan = z.object({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId: z.string().regex(/^[0-9a-f]{16}$/),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.int(),
  startTimeUnixNano: z.string().regex(/^\d+$/),
  endTimeUnixNano: z.string().regex(/^\d+$/),
  attributes: z.array(Attribute),
  status: z.object({ code: z.int(), message: z.string().optional() }),
});
export type OtlpSpan = z.infer<typeof OtlpSpan>;

/** ExportTraceServiceRequest of OTLP/HTTP with JSON. */
const ExportRequest = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: z.array(Attribute) }),
      scopeSpans: z.array(z.object({ spans: z.array(OtlpSpan) })),
    }),
  ),
});

export interface OtlpReceiver {
  readonly url: string;
  readonly spans: readonly OtlpSpan[];
  /** The texts of all requests. */
  readonly bodies: readonly string[];
  close(): Promise<void>;
}

/** Receives spans at `/v1/traces` over OTLP/HTTP, and rejects what is not of the protocol. */
export async function startOtlpReceiver(host: string, port = 0): Promise<OtlpReceiver> {
  const spans: OtlpSpan[] = [];
  const bodies: string[] = [];
  const app = fastify({ bodyLimit: 8 * 2 ** 20 });
  app.post('/v1/traces', async ({ body }, reply) => {
    const read = ExportRequest.safeParse(body);
    if (!read.success) return reply.code(400).send({ code: 3, message: z.prettifyError(read.error) });
    bodies.push(JSON.stringify(body));
    for (const { scopeSpans } of read.data.resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans);
    return { partialSuccess: {} };
  });
  const url = await app.listen({ host, port });
  return { url, spans, bodies, close: async () => await app.close() };
}
