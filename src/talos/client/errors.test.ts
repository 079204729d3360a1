import { describe, expect, it } from 'vitest';
import { redact } from './errors.ts';

describe('the redacted message of a node', () => {
  it.each([
    ['a machine token', 'token: abcdef.0123456789abcdef', 'token: [secret]'],
    ['a key', 'key: LS0tLS1CRUdJTiBFRDI1NTE5IFBSSVZBVEU= is bad', 'key: [secret] is bad'],
    ['an encryption key', 'z01mye6j16bspJYtTB/5SFX8j7Ph4JXxM2Xuu4vsBPM=', '[secret]'],
    ['an id in URL form', '0raF93qnkMvF-FZNuvyGozXNdLiT2FOWSlyBaW4PR-w=', '[secret]'],
    ['a key without capitals', 'abcdefghijklmnopqrstuvwxyz0123456789', '[secret]'],
  ])('never shows %s', (_what, message, shown) => {
    expect(redact(message)).toBe(shown);
  });

  it('shows a node name of any length, because it identifies the node', () => {
    const message = 'node "orders-vemxm2u4-cp-0-and-then-some" status is not available yet.';
    expect(redact(message)).toBe('node "orders-vemxm2u4-cp-0-and-then-some" status is not available yet');
  });

  it.each([
    'connection error: dial unix /system/run/machined/machine.sock: connect: no such file or directory',
    'open /etc/kubernetes/manifests/talos-kube-apiserver.yaml: permission denied',
    'failed to pull registry.k8s.io/kube-controller-manager:v1.36.3',
  ])('shows a path: %s', (message) => {
    expect(redact(message)).toBe(message);
  });

  it.each([
    '/z01mye6j16bspJYtTB/5SFX8j7Ph4JXxM2Xuu4vsBPM=',
    '/abcdefghijklmnopqrstuvwxyz0123456789',
    'a/0123456789abcdef0123456789abcdef',
    'abcdefgh/12345678901234567',
  ])('redacts a string that may be a key instead of a path: %s', (message) => {
    expect(redact(message)).toBe('[secret]');
  });

  it('is the first line', () => {
    expect(redact('refused: a difference follows\n- token: x\n+ token: y')).toBe('refused: a difference follows');
  });
});
