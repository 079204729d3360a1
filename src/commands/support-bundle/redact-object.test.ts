import { expect, it } from 'vitest';
import { redactObject } from './redact-object.ts';

const config = {
  apiVersion: 'talos.clusters.openmcp.cloud/v1alpha1',
  kind: 'ProviderConfig',
  metadata: {
    name: 'home',
    managedFields: [{ manager: 'kubectl' }],
    annotations: {
      'talos.clusters.openmcp.cloud/rollout': 'pause',
      'kubectl.kubernetes.io/last-applied-configuration': '{"spec":{"talos":{"patches":[{"password":"hunter2"}]}}}',
      'team.example/note': 'the login is hunter2',
    },
  },
  spec: {
    providerRef: { name: 'talos' },
    truenas: { credentialsRef: { name: 'nas' }, url: 'wss://user:hunter2@nas.example' },
    backup: { s3: { credentialsRef: { name: 'bucket' } } },
    talos: {
      kernelArguments: ['talos.dashboard.disabled=1', 'siderolink.api=https://a.example/?jointoken=hunter2'],
      patches: [
        {
          machine: {
            env: { LICENSE: 'hunter2' },
            files: [{ path: '/etc/x', content: 'hunter2' }],
            registries: { config: { 'a.example': { auth: { username: 'u', password: 'hunter2' } } } },
            sysctls: { 'vm.nr_hugepages': '1024' },
          },
          cluster: { inlineManifests: [{ name: 'a', contents: 'hunter2' }] },
        },
      ],
    },
    kubernetes: { inlineManifests: [{ name: 'login', contents: 'hunter2' }] },
    adminPassword: 'hunter2',
    tokens: ['hunter2'],
    token: { roleRefs: [{ kind: 'ClusterRole', name: 'view' }] },
  },
};

it('an object keeps its names, and loses what could be a credential', () => {
  const { value, hidden } = redactObject(config);
  expect(JSON.stringify(value)).not.toContain('hunter2');
  expect(hidden).toBe(8);
  expect(value).toMatchObject({
    metadata: {
      name: 'home',
      annotations: {
        'talos.clusters.openmcp.cloud/rollout': 'pause',
        'team.example/note': '(not shown)',
      },
    },
    spec: {
      truenas: { credentialsRef: { name: 'nas' }, url: 'wss://(secret)@nas.example' },
      backup: { s3: { credentialsRef: { name: 'bucket' } } },
      talos: {
        kernelArguments: ['talos.dashboard.disabled=1', 'siderolink.api=https://a.example/?jointoken=(secret)'],
        patches: [{ machine: { files: [{ path: '/etc/x' }], sysctls: { 'vm.nr_hugepages': '1024' } } }],
      },
      token: { roleRefs: [{ kind: 'ClusterRole', name: 'view' }] },
    },
  });
  expect(value).not.toHaveProperty('metadata.managedFields');
});
