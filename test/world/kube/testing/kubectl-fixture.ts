import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { findPeer } from '../../../peers/find-peer.ts';
import { CallInterceptor, type InterceptedCall } from '../../faults/call-interceptor.ts';
import { kubeconfigOf } from '../index.ts';
import { type KubeFixture, startKubeFixture } from './kube-fixture.ts';

export interface KubectlFixtureResult {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

export interface KubectlFixture {
  readonly kube: KubeFixture;
  /** Runs the real kubectl, with `input` as the input of `-f -`. Ends within 15 s in any case. */
  run(args: string, input?: unknown): Promise<KubectlFixtureResult>;
  /** Its output. Throws when it failed. */
  says(args: string, input?: unknown): Promise<string>;
  /** Starts a command that watches `plural`, and returns when its watch is open; `outcome` is its result. */
  watches(plural: string, args: string): Promise<{ readonly outcome: Promise<KubectlFixtureResult> }>;
  /** The path of a kubeconfig for the same server with this user instead of the administrator. */
  kubeconfigFor(user: Record<string, unknown>): Promise<string>;
}

/** A test server and a kubectl for it, isolated from the user's configuration. */
export async function startKubectlFixture(): Promise<KubectlFixture> {
  const switchboard = new CallInterceptor();
  const kube = await startKubeFixture({ switchboard });
  const folder = await mkdtemp(join(tmpdir(), 'world-kubectl-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const kubeconfigFor = async (user: Record<string, unknown>): Promise<string> => {
    const path = join(folder, `kubeconfig-${randomUUID()}`);
    await writeFile(path, kubeconfigOf(kube.url, kube.ca, user), { mode: 0o600 });
    return path;
  };
  const kubeconfig = await kubeconfigFor({ token: 'admin' });
  const environment = { PATH: process.env['PATH'] ?? '', HOME: folder, KUBECONFIG: kubeconfig };
  const run = (args: string, input?: unknown): Promise<KubectlFixtureResult> =>
    new Promise((resolve) => {
      const options = { env: environment, timeout: 15_000, encoding: 'utf8' } as const;
      const child = execFile(findPeer('kubectl') ?? 'kubectl', args.split(' '), options, (error, out, text) => {
        resolve({ code: error ? Number(error.code ?? 1) : 0, out, error: text });
      });
      child.stdin?.end(input === undefined ? '' : JSON.stringify(input));
    });
  const says = async (args: string, input?: unknown): Promise<string> => {
    const { code, out, error } = await run(args, input);
    if (code !== 0) throw new Error(`kubectl ${args} ended with ${code}: ${error}`);
    return out;
  };
  const watches = async (plural: string, args: string): Promise<{ outcome: Promise<KubectlFixtureResult> }> => {
    const isWatch = ({ name, detail }: InterceptedCall): boolean =>
      name.endsWith(`/${plural}`) && (detail as { query: Record<string, string> }).query['watch'] === 'true';
    const before = switchboard.calls.filter(isWatch).length;
    const outcome = run(args);
    await expect.poll(() => switchboard.calls.filter(isWatch).length, { timeout: 10_000 }).toBeGreaterThan(before);
    return { outcome };
  };
  return { kube, run, says, watches, kubeconfigFor };
}

/** A kind with columns, a status and descriptions. */
export const gadgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gadgets.world.example.com' },
  spec: {
    group: 'world.example.com',
    scope: 'Namespaced',
    names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', shortNames: ['gg'], categories: ['toys'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
          { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
          { name: 'Color', type: 'string', jsonPath: '.spec.color', priority: 1 },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'Gadget is something to play with.',
            properties: {
              spec: {
                type: 'object',
                description: 'What is asked for.',
                required: ['size'],
                properties: {
                  size: { type: 'integer', maximum: 10, description: 'How big it is.' },
                  color: { type: 'string' },
                  parts: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                    items: {
                      type: 'object',
                      required: ['name'],
                      properties: { name: { type: 'string' }, weight: { type: 'integer' } },
                    },
                  },
                },
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
};

export const newGadget = (name: string, spec: Record<string, unknown>) => ({
  apiVersion: 'world.example.com/v1',
  kind: 'Gadget',
  metadata: { name, namespace: 'default' },
  spec,
});
