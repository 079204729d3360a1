import ssh2 from 'ssh2';

/** An ed25519 SSH key pair in OpenSSH format. The library cannot parse about one in 300 of its own keys. */
export function makeSshKey(): { readonly private: string; readonly public: string } {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519');
    if (!(ssh2.utils.parseKey(pair.private) instanceof Error)) return pair;
  }
}
