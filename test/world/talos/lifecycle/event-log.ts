import { randomBytes } from 'node:crypto';
import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';

/** One event of a node with its payload as `google.protobuf.Any`. */
export interface NodeEvent {
  /** Sortable. */
  readonly id: string;
  readonly typeUrl: string;
  readonly value: Uint8Array;
  readonly actorId: string;
  readonly at: Date;
}

const retainedEventCount = 1000;

/** The node's event stream: a bounded history, and listeners for new events. */
export class EventLog {
  readonly past: NodeEvent[] = [];
  readonly #listeners = new Set<(event: NodeEvent) => void>();
  #count = 0;

  publish<S extends DescMessage>(schema: S, payload: MessageInitShape<S>, actorId = ''): void {
    this.#count += 1;
    const event: NodeEvent = {
      id: `${Date.now().toString(32).padStart(10, '0')}${this.#count.toString(32).padStart(6, '0')}${randomBytes(2).toString('hex')}`,
      typeUrl: `talos/runtime/${schema.typeName}`,
      value: toBinary(schema, create(schema, payload)),
      actorId,
      at: new Date(),
    };
    this.past.push(event);
    if (this.past.length > retainedEventCount) this.past.shift();
    for (const listener of this.#listeners) listener(event);
  }

  onEvent(listener: (event: NodeEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
