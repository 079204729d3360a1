import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { viewOf } from '../../../world/talos/config/config-view.ts';
import { decodeConfig } from '../../../world/talos/config/decode-config.ts';
import { apiServerFlags } from '../../../world/talos/workload/api-server-flags.ts';

type Arguments = Readonly<Record<string, string>>;

const endpoint = 'https://192.0.2.1:6443';
const context = { folder: '/files', address: '192.0.2.7', etcdUrl: 'http://127.0.0.1:2379' };

/** The flags that Talos 1.`minor` derives from a configuration with these extra arguments, by name. */
function flagsOf(minor: number, extraArgs: Arguments): Record<string, string> {
  const cluster = { controlPlane: { endpoint }, apiServer: { extraArgs } };
  const text = stringify({ version: 'v1alpha1', machine: { type: 'controlplane' }, cluster });
  const flags = apiServerFlags(viewOf(decodeConfig(text, minor)), { ...context, minor });
  return Object.fromEntries(flags.map((flag) => [flag.slice(2).split('=')[0], flag.split('=').slice(1).join('=')]));
}

describe('the flags of kube-apiserver', () => {
  it('use the endpoint as issuer and audience of tokens, and disable anonymous access', () => {
    expect(flagsOf(13, {})).toMatchObject({
      'service-account-issuer': endpoint,
      'api-audiences': endpoint,
      'anonymous-auth': 'false',
      'secure-port': '6443',
      'authorization-config': '/files/authorization-config.yaml',
    });
  });

  it.each([
    [
      'are added to where Talos adds',
      'enable-admission-plugins',
      'NodeRestriction,AlwaysPullImages',
      'AlwaysPullImages',
    ],
    ['are new where Talos has none', 'feature-gates', 'A=true,B=false', 'A=true,B=false'],
    ['win where Talos lets them', 'anonymous-auth', 'true', 'true'],
  ])('extra arguments %s', (_how, name, flag, given) => {
    expect(flagsOf(13, { [name]: given })[name]).toBe(flag);
  });

  it('with authorizers in extra arguments have no authorization file', () => {
    const flags = flagsOf(13, { 'authorization-mode': 'AlwaysAllow' });
    expect(flags['authorization-mode']).toBe('Node,RBAC,AlwaysAllow');
    expect(flags).not.toHaveProperty('authorization-config');
  });

  it('require TLS 1.3 since Talos 1.14, and no argument can lower it', () => {
    const less = { 'tls-min-version': 'VersionTLS11' };
    expect(flagsOf(13, {})['tls-min-version']).toBe('VersionTLS12');
    expect(flagsOf(13, less)['tls-min-version']).toBe('VersionTLS11');
    expect(flagsOf(14, {})['tls-min-version']).toBe('VersionTLS13');
    expect(() => flagsOf(14, less)).toThrow('extra arg "tls-min-version" is not allowed');
  });
});
