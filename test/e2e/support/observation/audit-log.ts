import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeObject } from '../../../../src/kube/resource.ts';

/** One call as a real API server logged it after its answer. */
export interface AuditEntry {
  /** When it arrived, in milliseconds since 1970. */
  readonly at: number;
  readonly user: string;
  /** The Pod that the caller's token is bound to. */
  readonly pod: string;
  readonly verb: string;
  /** With its subresource: `machines/status`. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** HTTP status. */
  readonly code: number;
  /** The request body, for Leases. */
  readonly object?: KubeObject | undefined;
}

interface AuditEvent {
  readonly requestReceivedTimestamp: string;
  readonly user: { readonly username: string; readonly extra?: Readonly<Record<string, readonly string[]>> };
  readonly verb: string;
  readonly requestURI: string;
  readonly objectRef?: { resource?: string; subresource?: string; namespace?: string; name?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly requestObject?: KubeObject;
}

const logFile = 'audit.log';

/** Arguments that make kube-apiserver log, in `folder`, the calls of the accounts in a namespace. */
export async function auditArguments(folder: string, namespace: string): Promise<string[]> {
  const userGroups = [`system:serviceaccounts:${namespace}`];
  const leases = { group: 'coordination.k8s.io', resources: ['leases'] };
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived', 'ResponseStarted'],
    rules: [
      { level: 'Request', userGroups, resources: [leases] },
      { level: 'Metadata', userGroups },
      { level: 'None' },
    ],
  };
  const file = join(folder, 'audit-policy.json');
  await writeFile(file, JSON.stringify(policy));
  return [`--audit-policy-file=${file}`, `--audit-log-path=${join(folder, logFile)}`];
}

/** All answered calls so far, in the order of their arrival. */
export function readAuditLog(folder: string): AuditEntry[] {
  const lines = readFileSync(join(folder, logFile), 'utf8').split('\n');
  // The last line may not be complete yet.
  const events = lines.slice(0, -1).map((line) => toAuditEntry(JSON.parse(line) as AuditEvent));
  return events.sort((a, b) => a.at - b.at);
}

function toAuditEntry(event: AuditEvent): AuditEntry {
  const { resource = event.requestURI, subresource, namespace = '', name = '' } = event.objectRef ?? {};
  return {
    at: toMilliseconds(event.requestReceivedTimestamp),
    user: event.user.username,
    pod: event.user.extra?.['authentication.kubernetes.io/pod-name']?.[0] ?? '',
    verb: event.verb,
    resource: subresource ? `${resource}/${subresource}` : resource,
    namespace,
    name,
    code: event.responseStatus?.code ?? 0,
    object: event.requestObject,
  };
}

/**
 * Milliseconds with fractions: the timestamps have six digits, and two writes of a Lease may be closer than a
 * millisecond.
 */
const toMilliseconds = (text: string): number =>
  Date.parse(`${text.slice(0, 23)}Z`) + Number(`0.${text.slice(23, 26)}`);
