import { annotations } from '../../../../src/api/names.ts';
import type { InterceptedCall } from '../../../world/faults/call-interceptor.ts';
import { CallNaming, nameApiRequest } from '../call-naming.ts';

/** Names calls by what the record of the restore says, and writes of the record by what they add. */
export class RestoreCallNaming extends CallNaming {
  #state = 'none';

  override nameOf(call: InterceptedCall, content: unknown): string {
    const { simulator, name } = call;
    const written = recordedState(call, content);
    if (written !== undefined) return `kube record ${written}`;
    if (simulator === 'kube' || simulator === 'workload')
      return `${simulator} (${this.#state}) ${nameApiRequest(call, content)}`;
    const { type = '' } = (content ?? {}) as { type?: string };
    return [simulator, `(${this.#state})`, name, type].filter(Boolean).join(' ');
  }

  override follow(call: InterceptedCall, content: unknown): void {
    this.#state = recordedState(call, content) ?? this.#state;
  }
}

/** What a write of the record adds to it; undefined for any other call. */
function recordedState({ simulator, name }: InterceptedCall, content: unknown): string | undefined {
  if (simulator !== 'kube' || !/^PATCH .*\/secrets\/[^/]+$/.test(name) || !Buffer.isBuffer(content)) return undefined;
  const { metadata } = JSON.parse(content.toString('utf8')) as { metadata?: { annotations?: Record<string, string> } };
  const text = metadata?.annotations?.[annotations.restoreProgress];
  if (text === undefined) return undefined;
  const record = JSON.parse(text) as Record<string, object>;
  if (record['completedAt']) return 'completed';
  if (record['provenAt']) return 'proven';
  if (record['request']) return 'requested';
  return Object.keys(record['wipes'] ?? {}).length > 0 ? 'wiping' : 'begun';
}

/** The calls that belong to a restore. The controllers of Clusters and Machines look meanwhile, too. */
export const isRestoreCall = (name: string): boolean =>
  isRestoreEffect(name) || /^talos \((?!none)\w+\) machine\.\S+\/(Read|ServiceList|EtcdMemberList)/.test(name);

/** What changes something, and the records of that: every run makes these calls. */
export const isRestoreEffect = (name: string): boolean =>
  /^kube record |\/(Reset|EtcdRecover|Bootstrap)$|^kube \S+ PATCH \S+\/clusters\/\w+ .*\/(restore|approve)\b/.test(
    name,
  );
