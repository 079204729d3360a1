// Loaded before a program that is to be known by an address of its own, as a pod is: whatever it connects to sees LOCAL_ADDRESS.
import { Socket } from 'node:net';
import process from 'node:process';

const localAddress = process.env.LOCAL_ADDRESS;
const { connect } = Socket.prototype;

Socket.prototype.connect = function (...words) {
  // `net.connect` hands over what it has already sorted: the options, and whom to tell.
  const [first, ...others] = Array.isArray(words[0]) ? words[0] : words;
  if (first?.port === undefined) return Reflect.apply(connect, this, words);
  const listeners = others.filter((word) => typeof word === 'function');
  return Reflect.apply(connect, this, [{ ...first, localAddress }, ...listeners]);
};
